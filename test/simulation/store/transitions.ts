import type {
  Admit, AdmitOutcome, Cancel, CancelOutcome, Finish, FinishOutcome, Late, LateOutcome, Outcome, Placement, Promote, PromoteOutcome, Reassign, ReassignOutcome, Start,
  StartOutcome, Transition,
} from '../../../services/job-tracker/queue/queue-store.js';
import { isId } from '../../../shared/ids.js';
import { advance, cancelIdle, end, enqueue, keep, runs, sameJob } from './changes.js';
import { areTooMany, endRuns } from './end-runs.js';
import { attemptOf, newlyReady, type Row, type Tables, taskKey } from './rows.js';
import { alter, cancelSchedule, enroll, fire, release } from './schedules.js';

/** Applies one change, as simply as it can be written down. */
export function applyTransition(tables: Tables, t: Transition): Outcome {
  switch (t.kind) {
    case 'admit':
      return admit(tables, t);
    case 'start':
      return start(tables, t);
    case 'reassign':
      return reassign(tables, t);
    case 'finish':
      return finish(tables, t);
    case 'cancel':
      return cancel(tables, t);
    case 'promote':
      return promote(tables, t);
    case 'late':
      return late(tables, t);
    case 'limit':
      tables.groups.set(t.nodeGroup, { partition: t.partition, limits: Object.values(t.limits).some((value) => value !== undefined) ? t.limits : undefined });
      return { kind: 'limit' };
    case 'enroll':
      return enroll(tables, t);
    case 'fire':
      return fire(tables, t);
    case 'alter':
      return alter(tables, t);
    case 'endRuns':
      return endRuns(tables, t);
    case 'release':
      return release(tables, t);
  }
}

function admit(tables: Tables, t: Admit): AdmitOutcome {
  const known = tables.answered(t.id);
  if (known !== undefined) {
    if (!sameJob(known.job, t.job)) return { kind: 'admit', result: 'conflict' };
    return { kind: 'admit', result: 'again', first: known.first, existingId: known.existingId };
  }
  if (!isId(t.id) || !Number.isInteger(t.priority) || !Number.isInteger(t.dueAt)) return { kind: 'admit', result: 'refused', message: 'not a job' };
  if (!tables.groups.has(t.nodeGroup)) tables.groups.set(t.nodeGroup, { partition: t.partition, limits: undefined });
  const task = tables.tasks.get(taskKey(t));
  const row = newRow(tables.lastSeq + 1, t);
  const schedule = tables.schedules.get(taskKey(t));
  if (schedule !== undefined) return ignore(tables, t, row, schedule.id);
  if (task === undefined) {
    keep(tables, row);
    tables.tasks.set(taskKey(t), { current: row, next: undefined });
    return { kind: 'admit', result: 'accepted', seq: row.seq, placement: place(row, t) };
  }
  if (task.next === undefined && runs(task.current)) {
    keep(tables, row);
    task.next = row;
    return { kind: 'admit', result: 'accepted', seq: row.seq, placement: 'blocked' };
  }
  const existing = task.next ?? task.current;
  // What was kept in a FailStore comes late: it does not replace what was submitted after it.
  if (!t.replaceOnExist || (t.fromFailStore === true && t.id < existing.id)) return ignore(tables, t, row, existing.id);
  keep(tables, row);
  Object.assign(row, { first: 'replaced', existingId: existing.id });
  const existingPlacement = existing.state.toLowerCase() as Placement;
  end(tables, existing, 'REPLACED', t.createdAt, `replaced by ${t.id}`);
  const outcome = { kind: 'admit', result: 'replaced', seq: row.seq, existingId: existing.id, existingSeq: existing.seq, existingPlacement } as const;
  if (existing === task.next) {
    task.next = row;
    return { ...outcome, placement: 'blocked' };
  }
  task.current = row;
  return { ...outcome, placement: place(row, t) };
}

function newRow(seq: number, t: Admit): Row {
  const { id, partition, nodeGroup, taskId, type, priority, createdAt, policy, job, dueAt } = t;
  return {
    seq, id, partition, nodeGroup, taskId, key: taskId, scheduledAt: dueAt, type, priority, createdAt, policy, job, dueAt, owes: t.needFeedback ? t.submitNodeGroup : undefined, first: 'accepted', existingId: '',
    state: 'BLOCKED', last: false, endedAt: 0, attempts: 0, retryTimes: 0, lostTimes: 0, fence: 0, worker: { nodeId: '', incarnation: '' }, assignedAt: 0, records: [], message: '', outcome: undefined,
  };
}

/** Only an id that the client made can come again: it stays. */
function ignore(tables: Tables, t: Admit, row: Row, existingId: string): AdmitOutcome {
  if (t.clientId) {
    keep(tables, row);
    tables.live.delete(row.seq);
    Object.assign(row, { state: 'IGNORED', first: 'duplicate', existingId, endedAt: t.createdAt });
  }
  return { kind: 'admit', result: 'duplicate', existingId };
}

function place(row: Row, t: Admit): Placement {
  if (t.start === undefined || t.dueAt > t.createdAt) return enqueue(row, t.createdAt);
  Object.assign(row, { state: 'EXECUTING', attempts: 1, assignedAt: t.createdAt, fence: t.start.fence, worker: t.start.worker });
  return 'started';
}

function start(tables: Tables, t: Start): StartOutcome {
  const row = tables.of(t.partition, t.seq);
  if (row?.state !== 'READY' || row.attempts !== t.attempt - 1) return { kind: 'start', started: false };
  Object.assign(row, { state: 'EXECUTING', attempts: t.attempt, fence: t.fence, worker: t.worker, assignedAt: t.at });
  return { kind: 'start', started: true, job: t.wantJob ? row.job : undefined };
}

function reassign(tables: Tables, t: Reassign): ReassignOutcome {
  const row = tables.of(t.partition, t.seq);
  if (row === undefined || !runs(row) || row.attempts !== t.attempt) return { kind: 'reassign', applied: false };
  Object.assign(row, { worker: t.worker, assignedAt: t.at });
  return { kind: 'reassign', applied: true, job: row.job };
}

function finish(tables: Tables, t: Finish): FinishOutcome {
  const row = tables.of(t.partition, t.seq);
  if (row === undefined || !runs(row) || row.attempts !== t.attempt) return { kind: 'finish', applied: false };
  // What is being cancelled does not run again: its owner decides anew.
  if ('dueAt' in t.next && row.state === 'CANCELLING') return { kind: 'finish', applied: false };
  if ('dueAt' in t.next && row.last) return { kind: 'finish', applied: false, over: true };
  const { outcome, message, truncated, startedAt } = t.end;
  row.records.push({ ...attemptOf(row), startedAt, endedAt: t.at, outcome, message, truncated });
  row.message = message;
  if ('dueAt' in t.next) {
    Object.assign(row, t.next);
    if (enqueue(row, t.at) === 'waiting') return { kind: 'finish', applied: true, waitingUntil: row.dueAt };
    return { kind: 'finish', applied: true, ready: newlyReady(row) };
  }
  if (outcome === 'LOST') row.lostTimes++;
  row.outcome = outcome;
  const owedTo = end(tables, row, t.next.state, t.at, message);
  return { kind: 'finish', applied: true, ...advance(tables, row, t.at), ...(owedTo === undefined ? {} : { owedTo }) };
}

function cancel(tables: Tables, t: Cancel): CancelOutcome {
  const outcome: CancelOutcome = { kind: 'cancel', cancelled: [], cancelling: [], ended: [] };
  const named = t.id === undefined ? undefined : tables.byId.get(t.id);
  if (t.id !== undefined && (named?.nodeGroup !== t.nodeGroup || named.partition !== t.partition || named.state === 'IGNORED')) return outcome;
  if (named !== undefined && !tables.live.has(named.seq)) return { ...outcome, ended: [named.id] };
  if (named !== undefined) return cancelTask(tables, t, named, outcome);
  const byTask = { ...t, taskId: t.taskId ?? '' };
  if (areTooMany(tables, byTask)) return { ...outcome, many: true };
  return cancelSchedule(tables, byTask, cancelTask(tables, t, undefined, outcome));
}

/** Cancels the living instances under one task key, or that one of them. */
function cancelTask(tables: Tables, t: Cancel, named: Row | undefined, outcome: CancelOutcome): CancelOutcome {
  const task = tables.tasks.get(taskKey({ nodeGroup: t.nodeGroup, taskId: named?.key ?? t.taskId ?? '' }));
  if (task === undefined) return outcome;
  if (task.next !== undefined && (named === undefined || named === task.next)) {
    outcome.cancelled.push(cancelIdle(tables, task.next, t.at, t.as));
    task.next = undefined;
    if (named !== undefined) return outcome;
  }
  const { current } = task;
  if (!runs(current)) {
    outcome.cancelled.push(cancelIdle(tables, current, t.at, t.as));
    return { ...outcome, ...advance(tables, current, t.at) };
  }
  if (t.as !== undefined) return outcome;
  current.state = 'CANCELLING';
  outcome.cancelling.push({ id: current.id, seq: current.seq, attempt: current.attempts });
  return outcome;
}

function promote(tables: Tables, t: Promote): PromoteOutcome {
  const due = tables.waiting(t.partition).filter((row) => row.dueAt <= t.now);
  const ready = due.slice(0, t.limit);
  for (const row of ready) row.state = 'READY';
  return { kind: 'promote', ready: ready.map(newlyReady), nextDueAt: tables.waiting(t.partition)[0]?.dueAt };
}

function late(tables: Tables, t: Late): LateOutcome {
  const row = tables.byId.get(t.id);
  if (row === undefined || row.partition !== t.partition) return { kind: 'late', known: false };
  const record = row.records.find(({ attempt }) => attempt === t.attempt);
  if (record !== undefined && record.lateOutcome === undefined && record.outcome !== t.outcome) Object.assign(record, { lateOutcome: t.outcome, lateMessage: t.message });
  return { kind: 'late', known: t.attempt > 0 && t.attempt <= row.attempts };
}
