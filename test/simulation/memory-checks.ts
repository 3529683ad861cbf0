import type { GroupLimits } from '../../services/job-tracker/queue/queue-store.js';
import { isGuarded } from '../../services/job-tracker/queue/task-key.js';
import type { SimTracker } from './sim-tracker.js';
import type { World } from './world.js';

/** What a tracker keeps in memory is what is stored, for each partition that it holds by the store's word. */
export function compareMemory(world: World, tracker: SimTracker): void {
  const { groups } = tracker.core;
  for (const { partition, epoch } of groups.partitions.values()) {
    if (!world.db.tables.holds({ partition, epoch })) continue;
    const loaded = world.db.load(partition);
    const executing = new Map(loaded.executing.map((row) => [row.id, row]));
    const where = `${tracker.process.name} partition ${partition} at ${world.scheduler.now.toFixed(0)}`;
    for (const { nodeGroup, waiting, ready } of loaded.groups) {
      const running = loaded.executing.filter((row) => row.nodeGroup === nodeGroup).length;
      const group = groups.groups.get(nodeGroup);
      const kept = group === undefined ? 'nothing' : `${group.waiting} ${group.readyCount} ${group.executing}`;
      const stored = `${waiting} ${ready} ${running}`;
      if (kept !== stored && !(group === undefined && stored === '0 0 0')) world.history.violate(16, `${where}: waiting, ready, executing of ${nodeGroup} are ${kept} in memory and ${stored} in the store`);
    }
    for (const { nodeGroup, limits } of loaded.groups) {
      const gate = groups.groups.get(nodeGroup)?.gate;
      if (gate !== undefined && shown(gate.limits) !== shown(limits)) world.history.violate(16, `${where}: the limits of ${nodeGroup} are ${shown(gate.limits)} in memory and ${shown(limits)} in the store`);
    }
    for (const execution of groups.executions.values()) {
      if (execution.partition !== partition) continue;
      if (executing.get(execution.id)?.attempt !== execution.attempt) world.history.violate(16, `${where}: ${execution.id}/${execution.attempt} executes in memory only`);
      executing.delete(execution.id);
    }
    const runs = (all: readonly { id: string; stands: string }[]): string => all.map(({ id, stands }) => `${id} ${stands}`).toSorted().join();
    const guarded = [...tracker.core.guarded.all()].filter((task) => task.partition === partition).flatMap((task) => task.runs).filter(({ taskKey }) => isGuarded(taskKey));
    if (runs(guarded) !== runs(loaded.schedules.guarded)) world.history.violate(16, `${where}: guarded runs are ${runs(guarded)} in memory and ${runs(loaded.schedules.guarded)} in the store`);
    for (const id of executing.keys()) world.history.violate(16, `${where}: ${id} executes in the store only`);
  }
}

function shown({ backlog, maxRunning, startsPerSecond }: GroupLimits = {}): string {
  return `${backlog} ${maxRunning} ${startsPerSecond}`;
}

/** What is left although everything has ended; empty when nothing is. */
export function leftovers(world: World): string[] {
  const { tables } = world.db;
  const left = [...tables.live.values()].map(({ id, state, nodeGroup, attempts, dueAt }) => `${id} of ${nodeGroup} is ${state}, attempt ${attempts}, due ${dueAt}`);
  for (const { id, deliveries, nextAt } of [...tables.feedback.values()].filter(({ dead }) => !dead)) left.push(`the result of ${id} is owed, ${deliveries} deliveries, next ${nextAt}`);
  for (const { id, taskId, nodeGroup, state, nextAt } of tables.schedules.values()) left.push(`schedule ${id} (${taskId} of ${nodeGroup}) is ${state}, next ${nextAt}`);
  for (const { taskId, nodeGroup, by } of tables.left.values()) left.push(`runs of ${taskId} of ${nodeGroup} are left to end by ${by}`);
  for (const { process, open } of world.clients) if (open > 0) left.push(`${process.name} waits for ${open} answers`);
  for (const { process, node, runner } of world.runningWorkers) {
    const { running } = node.attempts;
    if (running + runner.running + node.results.unacked > 0) left.push(`${process.name} has ${running} attempts, ${runner.running} runs, ${node.results.unacked} results`);
  }
  for (const { process, core } of world.runningTrackers) {
    const { groups, directory } = core;
    if (groups.executions.size > 0) left.push(`${process.name} keeps ${groups.executions.size} executions`);
    for (const group of groups.groups.values()) if (group.admitting > 0 || group.refilling || groups.hasHalted(group.name)) left.push(`${process.name} keeps ${group.name} admitting ${group.admitting}, halted ${groups.hasHalted(group.name)}`);
    for (const worker of directory.all()) {
      const { identity, session, executions, resend } = worker;
      if (session === undefined || executions.size + resend.length > 0) left.push(`${process.name} keeps worker ${identity.nodeId} ${identity.incarnation} with ${executions.size} attempts`);
    }
  }
  return left;
}
