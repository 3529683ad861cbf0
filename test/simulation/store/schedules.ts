import type {
  Alter, AlterOutcome, Cancel, CancelOutcome, Enroll, EnrollOutcome, Fire, FireOutcome, FireRun, PassedTime, RefusedOutcome, Release, ReleaseOutcome,
} from '../../../services/job-tracker/queue/queue-store.js';
import { heldUntil } from '../../../services/job-tracker/queue/queue-store.js';
import type { TaskKey } from '../../../services/job-tracker/queue/task-key.js';
import { isId } from '../../../shared/ids.js';
import { keep, sameJob } from './changes.js';
import { areTooMany, runsOf, stopRuns } from './end-runs.js';
import { newlyReady, type Row, type StoredSchedule, type Tables, taskKey } from './rows.js';

const maxTimes = 1_001;

export function enroll(tables: Tables, t: Enroll): EnrollOutcome {
  const known = tables.answered(t.id);
  if (known !== undefined) return sameJob(known.job, t.job) ? { kind: 'enroll', result: 'again', first: known.first, existingId: known.existingId } : { kind: 'enroll', result: 'conflict' };
  if (!isId(t.id) || !Number.isInteger(t.priority) || !Number.isInteger(t.nextAt ?? 0)) return { kind: 'enroll', result: 'refused', message: 'not a schedule' };
  if (!tables.groups.has(t.nodeGroup)) tables.groups.set(t.nodeGroup, { partition: t.partition, limits: undefined });
  const oneShot = tables.tasks.get(taskKey(t));
  const schedule = tables.schedules.get(taskKey(t));
  const existingId = (oneShot?.next ?? oneShot?.current ?? schedule)?.id;
  if (existingId === undefined) {
    const row = newSchedule(++tables.lastSched, 1, t);
    tables.schedules.set(taskKey(t), row);
    return { kind: 'enroll', result: 'accepted', sched: row.sched, version: row.version };
  }
  if (schedule === undefined || !t.replaceOnExist || (t.fromFailStore === true && t.id < existingId)) {
    if (t.clientId) tables.past.set(t.id, { first: 'duplicate', existingId, job: t.job });
    return { kind: 'enroll', result: 'duplicate', existingId };
  }
  tables.past.set(schedule.id, { ...schedule, endedAt: t.createdAt });
  const owed = schedule.state === 'ACTIVE' && schedule.nextAt !== undefined && schedule.nextAt <= t.createdAt;
  const row = { ...newSchedule(schedule.sched, schedule.version + 1, t), first: 'replaced', existingId, lastAt: schedule.lastAt, ...(owed ? { nextAt: schedule.nextAt } : {}) } as const;
  tables.schedules.set(taskKey(t), row);
  for (const run of runsOf(tables, t)) run.last = false;
  return { kind: 'enroll', result: 'replaced', sched: row.sched, version: row.version, existingId };
}

function newSchedule(sched: number, version: number, t: Enroll): StoredSchedule {
  const { partition, id, nodeGroup, taskId, type, priority, needFeedback, submitNodeGroup, policy, plan, nextAt, createdAt, job } = t;
  return {
    sched, version, partition, id, nodeGroup, taskId, type, priority, needFeedback, submitNodeGroup, policy, plan, nextAt, createdAt, job, state: 'ACTIVE', fires: 0, lastAt: undefined, updatedAt: createdAt,
    first: 'accepted', existingId: '',
  };
}

/** Nothing of it takes effect unless all of it does. */
export function fire(tables: Tables, t: Fire): FireOutcome | RefusedOutcome {
  const schedule = [...tables.schedules.values()].find(({ sched, partition }) => sched === t.sched && partition === t.partition);
  const no: FireOutcome = { kind: 'fire', applied: false, again: false, runs: [] };
  if (schedule === undefined || schedule.version !== t.version) return no;
  if (t.from !== undefined && (schedule.state !== 'ACTIVE' || schedule.nextAt !== t.from)) return no;
  const times = [...t.runs, ...t.passed];
  const taken = times.find(({ id }) => tables.answered(id) !== undefined);
  if (taken !== undefined && t.from === undefined) return { ...no, again: true };
  const bad = times.find(({ id }) => !isId(id));
  const living = times.find((each) => tables.tasks.has(taskKey({ nodeGroup: t.nodeGroup, taskId: each.taskKey })));
  if (times.length > maxTimes || taken !== undefined || bad !== undefined || living !== undefined) return { kind: 'refused', message: `the fire of ${schedule.taskId} cannot be stored` };
  const made = t.runs.map((run) => makeRun(tables, schedule, t, run));
  for (const each of t.passed) pass(tables, schedule, t, each);
  if (t.from !== undefined) schedule.nextAt = t.nextAt;
  if (t.over) retire(tables, schedule, t.at);
  return { kind: 'fire', applied: true, again: false, runs: made };
}

function makeRun(tables: Tables, schedule: StoredSchedule, { at, from }: Fire, run: FireRun): FireOutcome['runs'][number] {
  const row = newRun(tables, schedule, at, run, run.job ?? schedule.job);
  keep(tables, row);
  tables.tasks.set(taskKey({ nodeGroup: row.nodeGroup, taskId: row.key }), { current: row, next: undefined });
  if (run.counts && from !== undefined) Object.assign(schedule, { fires: schedule.fires + 1, lastAt: Math.max(run.scheduledAt, schedule.lastAt ?? run.scheduledAt) });
  if (run.held) {
    Object.assign(row, { state: 'WAITING', dueAt: heldUntil });
    return { seq: row.seq, placement: 'waiting' };
  }
  if (run.start === undefined) {
    row.state = 'READY';
    return { seq: row.seq, placement: 'ready' };
  }
  Object.assign(row, { state: 'EXECUTING', attempts: 1, assignedAt: at, fence: run.start.fence, worker: run.start.worker });
  return { seq: row.seq, placement: 'started' };
}

/** It is over from the beginning, and its result is owed to nobody. */
function pass(tables: Tables, schedule: StoredSchedule, { at }: Fire, { state, message, ...time }: PassedTime): void {
  const row = { ...newRun(tables, schedule, at, time, Buffer.alloc(0)), owes: undefined, state, message, endedAt: at };
  keep(tables, row);
  tables.live.delete(row.seq);
}

function newRun(tables: Tables, schedule: StoredSchedule, at: number, { id, taskKey: key, scheduledAt }: { id: string; taskKey: TaskKey; scheduledAt: number }, job: Buffer): Row {
  const { partition, nodeGroup, taskId, type, priority, policy, needFeedback, submitNodeGroup } = schedule;
  return {
    seq: tables.lastSeq + 1, id, partition, nodeGroup, taskId, key, scheduledAt, type, priority, createdAt: at, policy, job, dueAt: scheduledAt, owes: needFeedback ? submitNodeGroup : undefined,
    first: 'accepted', existingId: '', state: 'WAITING', last: false, endedAt: 0, attempts: 0, retryTimes: 0, lostTimes: 0, fence: 0, worker: { nodeId: '', incarnation: '' }, assignedAt: 0, records: [], message: '',
    outcome: undefined,
  };
}

function retire(tables: Tables, schedule: StoredSchedule, endedAt: number): void {
  tables.schedules.delete(taskKey(schedule));
  tables.past.set(schedule.id, { ...schedule, endedAt });
}

export function alter(tables: Tables, t: Alter): AlterOutcome {
  const found = tables.schedules.get(taskKey(t));
  const schedule = found?.partition === t.partition ? found : undefined;
  const outcome: AlterOutcome = { kind: 'alter', result: 'unknown', sched: 0, version: 0, cancelled: [], running: [] };
  if (schedule === undefined) return outcome;
  Object.assign(outcome, { sched: schedule.sched, version: schedule.version });
  const needsVersion = t.change === 'resume' || t.change === 'next' || t.version !== undefined;
  if (needsVersion && t.version !== schedule.version) return { ...outcome, result: 'stale' };
  const stands = { suspend: schedule.state === 'SUSPENDED', resume: schedule.state === 'ACTIVE', next: schedule.state === 'SUSPENDED' || schedule.nextAt !== undefined, delete: false };
  if (stands[t.change]) return { ...outcome, result: 'unchanged' };
  const by = t.change === 'suspend' || t.change === 'delete' ? t.change : undefined;
  if (by !== undefined && areTooMany(tables, t)) return { ...outcome, result: 'many' };
  const state = t.change === 'suspend' ? 'SUSPENDED' : 'ACTIVE';
  if (t.change === 'delete') retire(tables, schedule, t.at);
  else Object.assign(schedule, { state, version: schedule.version + 1, nextAt: t.change === 'suspend' ? undefined : t.nextAt, updatedAt: t.at });
  Object.assign(outcome, { result: 'done', version: schedule.version });
  if (t.change === 'resume') for (const row of runsOf(tables, t)) row.last = false;
  return by === undefined ? outcome : { ...outcome, ...stopRuns(tables, { ...t, by }) };
}

/** Adds to a cancel by task the schedule of the task and all its runs. */
export function cancelSchedule(tables: Tables, t: Cancel & { taskId: string }, outcome: CancelOutcome): CancelOutcome {
  const schedule = tables.schedules.get(taskKey(t));
  if (schedule !== undefined) retire(tables, schedule, t.at);
  const { cancelled, running, left } = stopRuns(tables, { ...t, by: 'cancel' });
  outcome.cancelled.push(...cancelled);
  outcome.cancelling.push(...running);
  return { ...outcome, ...(left ? { left } : {}), ...(schedule === undefined ? {} : { schedule: schedule.id }) };
}

export function release(tables: Tables, t: Release): ReleaseOutcome {
  const row = tables.of(t.partition, t.seq);
  if (row?.state !== 'WAITING' || row.dueAt !== heldUntil) return { kind: 'release', ready: undefined };
  Object.assign(row, { state: 'READY', dueAt: row.scheduledAt });
  return { kind: 'release', ready: newlyReady(row) };
}
