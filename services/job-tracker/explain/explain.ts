import type { ExplainInstanceResponse } from '../../../shared/grpc/generated/lts/v1/ExplainInstanceResponse.js';
import type { WaitCause } from '../../../shared/grpc/generated/lts/v1/WaitCause.js';
import type { Clock } from '../../../shared/time/clock.js';
import { roughDuration } from '../../../shared/time/duration.js';
import type { GroupWorkers } from '../dispatch/group-workers.js';
import type { Ownership } from '../lead/ownership.js';
import type { GroupQueue, OwnedGroups } from '../queue/owned-groups.js';
import type { ScheduleRow, StoreHealth } from '../queue/queue-store.js';
import { heldUntil } from '../queue/schedule-store.js';
import type { InstanceRow, StatusQueries } from '../queue/status-queries.js';

/** What the answer is drawn from, at one moment. */
export interface ExplainInput {
  instance: InstanceRow;
  workers: GroupWorkers;
  /** The limit of its group that lets nothing begin now. */
  limit?: WaitCause | undefined;
  /** Ready instances that come before it. */
  before: number;
  /** Whether very many runs of its task are being ended. */
  ending?: boolean;
  /** Live runs of its schedule that are not held, where the schedule limits how many there are. */
  going: readonly string[];
  now: number;
}

/** Counting stops here. */
export const mostCounted = 10_000;

/** Why the instance does not run, the first cause first. Empty when it runs or has ended. */
export function explain({ instance, workers, limit, before, ending, going, now }: ExplainInput): WaitCause[] {
  if (ending === true && (instance.state === 'WAITING' || instance.state === 'READY')) return [runsEnding(instance)];
  if (instance.state === 'WAITING') return [whyWaiting(instance, going, now)];
  if (instance.state !== 'READY') return [];
  const connected = [...workers.all].filter((worker) => worker.confirmed);
  const online = connected.filter((worker) => worker.available);
  const causes: WaitCause[] = [];
  if (connected.length > 0 && online.length === 0) causes.push(allDrained(instance.nodeGroup, connected));
  else if (online.length === 0) causes.push({ reason: 'WAIT_REASON_NO_WORKER', message: `no worker of group ${instance.nodeGroup} is connected; start one with --group ${instance.nodeGroup}` });
  else if (!workers.canRun(instance.type)) {
    causes.push({ reason: 'WAIT_REASON_NO_RUNNER', message: `${online.length === 1 ? 'the connected worker has no' : `none of the ${online.length} connected workers has a`} runner for type ${instance.type}, only: ${typesOf(online)}` });
  } else if (workers.peek(instance.type) === undefined) {
    const running = online.reduce((sum, worker) => sum + worker.executions.size, 0);
    causes.push({ reason: 'WAIT_REASON_NO_FREE_SLOT', message: `all slots of the ${online.length === 1 ? 'connected worker' : `${online.length} connected workers`} are taken (${running} ${running === 1 ? 'task runs' : 'tasks run'})` });
  }
  if (limit !== undefined) causes.push(limit);
  if (before > 0) causes.push({ reason: 'WAIT_REASON_BEHIND_OTHERS', message: `${before >= mostCounted ? `at least ${before}` : before} ready ${before === 1 ? 'job' : 'jobs'} of group ${instance.nodeGroup} ${before === 1 ? 'comes' : 'come'} first` });
  return causes;
}

function runsEnding({ nodeGroup, taskId }: InstanceRow): WaitCause {
  return { reason: 'WAIT_REASON_RUNS_ENDING', message: `very many runs of task ${taskId} of group ${nodeGroup} are being cancelled, a part at a time; none of the task begins until that is done, which takes no command` };
}

function whyWaiting(instance: InstanceRow, going: readonly string[], now: number): WaitCause {
  if (instance.dueAt === heldUntil && going.length > 0) return { reason: 'WAIT_REASON_SAME_TASK_RUNNING', message: `it is held until run ${going[0]} of task ${instance.taskId} has ended${going.length === 1 ? '' : `, or one of ${going.length - 1} others`}` };
  if (instance.blocked || instance.dueAt === heldUntil) return { reason: 'WAIT_REASON_SAME_TASK_RUNNING', message: `an earlier run of task ${instance.taskId} has not ended` };
  const inMs = Math.max(instance.dueAt - now, 0);
  if (instance.attempts > 0) {
    return { reason: 'WAIT_REASON_RETRY_BACKOFF', message: `retry ${instance.retryTimes} is due in ${roughDuration(inMs)}`, until: instance.dueAt };
  }
  return { reason: 'WAIT_REASON_NOT_DUE', message: `its time comes in ${roughDuration(inMs)}`, until: instance.dueAt };
}

function allDrained(nodeGroup: string, workers: { identity: { nodeId: string } }[]): WaitCause {
  const ids = [...new Set(workers.map(({ identity }) => identity.nodeId))];
  const named = `${ids.slice(0, 20).join(', ')}${ids.length > 20 ? ' …' : ''}`;
  return { reason: 'WAIT_REASON_WORKERS_DRAINED', message: `all connected workers of group ${nodeGroup} are drained: ${named}; undrain one with lts node undrain, or start another` };
}

function typesOf(workers: { types: ReadonlySet<string> }[]): string {
  return [...new Set(workers.flatMap((worker) => [...worker.types]))].slice(0, 20).join(', ');
}

/** The limit that holds the group, with its value and how many run. */
export function holdingLimit(group: GroupQueue | undefined, clock: Clock): WaitCause | undefined {
  if (group === undefined) return undefined;
  const { name, executing, gate } = group;
  const { maxRunning, startsPerSecond } = gate.limits;
  const running = `${executing} ${executing === 1 ? 'task' : 'tasks'} of group ${name} ${executing === 1 ? 'runs' : 'run'}`;
  switch (gate.heldBy(executing, clock)) {
    case 'maxRunning':
      return { reason: 'WAIT_REASON_MAX_RUNNING', message: `${running}, its limit max_running is ${maxRunning}; change it with "lts queue limit ${name} --max-running N"` };
    case 'startsPerSecond': {
      const inMs = gate.msToNext(clock);
      return { reason: 'WAIT_REASON_START_RATE', message: `the limit starts_per_second of group ${name} is ${startsPerSecond}, the next one begins in ${roughDuration(inMs)}; ${running}`, until: clock.now() + inMs };
    }
    case undefined:
      return undefined;
  }
}

/** Why nothing moves at all: the store. Undefined: it works. */
export function explainStore({ state, message }: Pick<StoreHealth, 'state' | 'message'>): WaitCause | undefined {
  if (state === 'LOCKED') return { reason: 'WAIT_REASON_STORE_LOCKED', message };
  return state === 'AWAY' || state === 'FAILED' ? { reason: 'WAIT_REASON_STORE_AWAY', message } : undefined;
}

/** Why this tracker runs nothing of the group; "": nothing at all. */
export function explainTracker(ownership: Pick<Ownership, 'trouble' | 'notOwner'>, nodeGroup: string): WaitCause {
  const error = ownership.notOwner(nodeGroup);
  if (ownership.trouble?.reason === 'STORE_LOCKED') return { reason: 'WAIT_REASON_STORE_LOCKED', message: ownership.trouble.message };
  return { reason: error.reason === 'LOADING' ? 'WAIT_REASON_LOADING' : 'WAIT_REASON_NOT_OWNER', message: error.message };
}

/** Why no run of the schedule lives. */
export function explainSchedule({ id, taskId, nodeGroup, state, nextAt }: ScheduleRow, now: number): ExplainInstanceResponse {
  const cause: WaitCause =
    state === 'SUSPENDED'
      ? { reason: 'WAIT_REASON_SUSPENDED', message: `schedule ${taskId} of group ${nodeGroup} is suspended; resume it with "lts schedule resume"` }
      : nextAt === undefined
        ? { reason: 'WAIT_REASON_SAME_TASK_RUNNING', message: `the next time of schedule ${taskId} follows from the end of its run` }
        : { reason: 'WAIT_REASON_NOT_DUE', message: `the next time of schedule ${taskId} comes in ${roughDuration(Math.max(nextAt - now, 0))}`, until: nextAt };
  return { instance_id: id, state: 'INSTANCE_STATE_WAITING', causes: [cause] };
}

/** The answer for one instance. */
export async function explainInstance(store: StatusQueries, instance: InstanceRow, groups: OwnedGroups, workers: GroupWorkers, going: readonly string[], clock: Clock): Promise<ExplainInstanceResponse> {
  const { nodeGroup, taskId } = instance;
  const before = instance.state === 'READY' ? await store.countBefore(nodeGroup, instance, mostCounted) : 0;
  const limit = holdingLimit(groups.groups.get(nodeGroup), clock);
  const causes = explain({ instance, workers, limit, before, ending: groups.isHalted(nodeGroup, taskId), going, now: clock.now() });
  return { instance_id: instance.id, state: `INSTANCE_STATE_${instance.state}`, causes };
}
