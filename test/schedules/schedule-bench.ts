import { randomFillSync } from 'node:crypto';
import { explainInstance } from '../../services/job-tracker/explain/explain.js';
import type { WaitCause } from '../../shared/grpc/generated/lts/v1/WaitCause.js';
import type { Schedule } from '../../shared/grpc/generated/lts/v1/Schedule.js';
import { idMaker } from '../../shared/ids.js';
import { LtsError } from '../../shared/errors/lts-error.js';
import type { Fire, FireRun, ScheduleRow } from '../../services/job-tracker/queue/queue-store.js';
import type { InstanceRow } from '../../services/job-tracker/queue/status-queries.js';
import { runKey } from '../../services/job-tracker/queue/task-key.js';
import { toPastSchedule, toSchedule } from '../../services/job-tracker/rpc/schedule-views.js';
import type { ShownSchedule } from '../../services/job-tracker/schedule/schedule-control.js';
import { eventually } from '../kit/eventually.js';
import { type FakeWorker, RepairBench } from '../repair/repair-bench.js';

export const minuteMs = 60_000;

/** A whole tracker with one schedule "task" of group g, that one worker runs. */
export class ScheduleBench {
  readonly bench: RepairBench;
  worker: FakeWorker;
  readonly name = { nodeGroup: 'g', taskId: 'task' };

  private constructor(bench: RepairBench) {
    this.bench = bench;
    this.worker = bench.worker(8);
  }

  static async start(): Promise<ScheduleBench> {
    return new ScheduleBench(await RepairBench.start());
  }

  get control(): RepairBench['core']['schedules'] {
    return this.bench.core.schedules;
  }

  /** Every minute, the next one in less than a minute. */
  cron(fields: object = {}): Promise<string> {
    return this.bench.submit({ task_id: 'task', cron_expression: '* * * * *', ...fields });
  }

  /** Every minute, the first one at once. */
  repeat(fields: object = {}): Promise<string> {
    return this.bench.submit({ task_id: 'task', repeat_interval: minuteMs, repeat_count: -1, ...fields });
  }

  /** The live schedule. */
  row(): Promise<ScheduleRow | undefined> {
    return this.bench.store.findSchedule('g', 'task');
  }

  /** Its runs and passed times, oldest scheduled time first. */
  async runs(): Promise<InstanceRow[]> {
    const { rows } = await this.bench.store.listInstances({ nodeGroup: 'g', taskId: 'task', states: [], before: undefined, limit: 1_000 });
    return rows.toSorted((a, b) => a.scheduledAt - b.scheduledAt || a.seq - b.seq);
  }

  async states(): Promise<string[]> {
    return (await this.runs()).map(({ state }) => state);
  }

  get now(): number {
    return this.bench.clock.now();
  }

  /** Lets time pass in steps of a second until the condition is true. */
  async until(condition: () => boolean | Promise<boolean>, what: string, mostTicks = 400): Promise<void> {
    let ticks = 0;
    await eventually(async () => {
      if (await condition()) return true;
      if (ticks++ > mostTicks) return false;
      await this.bench.ticks(1);
      return false;
    }, { what, everyMs: 1, withinMs: 20_000 });
  }

  /** Waits until the worker was sent so many tasks in all; gives the id of the last one. */
  async got(count: number): Promise<string> {
    await this.until(() => this.worker.got.length >= count, `task ${count} comes`);
    return this.worker.got[count - 1] ?? '';
  }

  /** Ends what the worker has of it, and waits until that is stored. */
  async finish(id: string, outcome?: Parameters<FakeWorker['finish']>[1]): Promise<InstanceRow> {
    this.worker.finish([id], outcome);
    await eventually(() => !this.bench.core.groups.executions.has(id), { what: `${id} has ended`, everyMs: 1, withinMs: 5_000 });
    return this.instance(id);
  }

  async instance(id: string): Promise<InstanceRow> {
    const row = await this.bench.store.findInstance({ id });
    if (row === undefined) throw new Error(`there is no instance ${id}`);
    return row;
  }

  /** So many minutes pass, with all that is due in them. */
  minutes(count: number): Promise<void> {
    return this.bench.ticks(count * 60);
  }

  trigger(fields: object = {}): Promise<{ instanceId: string; waits: boolean }> {
    return this.control.trigger({ ...this.name, instanceId: '', extParams: {}, payload: undefined, scheduledTime: 0, ...fields });
  }

  /** The live schedule. */
  async get(): Promise<ShownSchedule> {
    const found = await this.control.get(this.name);
    if (!('schedule' in found)) throw new Error('the schedule is past');
    return found;
  }

  /** As people see it, also when it is past. */
  async shown(): Promise<Schedule> {
    const found = await this.control.get(this.name);
    return 'schedule' in found ? toSchedule(found.schedule) : toPastSchedule(found);
  }

  /** Why it does not run. */
  readonly explain = async (id: string): Promise<WaitCause[]> => {
    const { core, store, clock } = this.bench;
    const instance = await this.instance(id);
    return (await explainInstance(store, instance, core.groups, core.directory.ofGroup(instance.nodeGroup), [], clock)).causes ?? [];
  };

  /** Makes runs of the schedule, which has no limit, behind the owner's back; it finds them when it takes the partition again. The first one that is due has the last key. */
  async crowd(count: number): Promise<void> {
    const { core, store } = this.bench;
    const { sched = 0, version = 0 } = (await this.row()) ?? {};
    const at = this.now;
    const runs = Array.from({ length: count }, (_, i): FireRun => ({ id: this.newId(), taskKey: runKey('task', false, at + count - i), scheduledAt: at, held: false, counts: false }));
    const epochs = Array.from(core.groups.partitions.values(), ({ partition, epoch }) => ({ partition, epoch }));
    for (let from = 0; from < count; from += 1_000) {
      const fire: Fire = { kind: 'fire', partition: 0, nodeGroup: 'g', sched, version, from: undefined, nextAt: undefined, over: false, at, runs: runs.slice(from, from + 1_000), passed: [] };
      await store.commit({ epochs, transitions: [fire] });
    }
    await this.takeOver();
  }

  /** The partition is taken and loaded as by another tracker: a reload is the same path. */
  async takeOver(): Promise<void> {
    const { ownership } = this.bench.core;
    ownership.reload([0], new LtsError('STORE_FAILED', 'as if the outcome of a commit were unknown'));
    if (ownership.serving) throw new Error('it serves on');
    await this.until(() => ownership.serving, 'it is taken');
  }

  /** Made now, whatever times other benches have played. */
  newId(): string {
    return idMaker(randomFillSync)(this.now);
  }

  /** Throws when something was mended: nothing was damaged. */
  async stop(): Promise<void> {
    const repairs = await this.bench.repairs();
    await this.bench.stop();
    if (Object.keys(repairs).length > 0) throw new Error(`mended: ${JSON.stringify(repairs)}`);
  }
}
