import { isDeepStrictEqual } from 'node:util';
import type { FinalState } from '../../../services/job-tracker/queue/instance-state.js';
import type {
  Admit, AdmitOutcome, Cancel, CancelOutcome, Finish, FinishOutcome, Late, LateOutcome, NewlyReady, Outcome, Placement, Promote, PromoteOutcome, Reassign, ReassignOutcome, Start,
  StartOutcome, Transition,
} from '../../../services/job-tracker/queue/queue-store.js';
import { decodeJob } from '../../../shared/grpc/job-codec.js';
import { isId } from '../../../shared/ids.js';
import { attemptOf, newlyReady, type Row, type Tables, taskKey } from './rows.js';

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
    case 'fire':
    case 'alter':
    case 'release':
      throw new Error(`${t.kind} is not there yet`);
  }
}

function admit(tables: Tables, t: Admit): AdmitOutcome {
  const known = tables.byId.get(t.id);
  if (known !== undefined) {
    if (!sameJob(known.job, t.job)) return { kind: 'admit', result: 'conflict' };
    return { kind: 'admit', result: 'again', first: known.first, existingId: known.existingId };
  }
  if (!isId(t.id) || !Number.isInteger(t.priority) || !Number.isInteger(t.dueAt)) return { kind: 'admit', result: 'refused', message: 'not a job' };
  if (!tables.groups.has(t.nodeGroup)) tables.groups.set(t.nodeGroup, { partition: t.partition, limits: undefined });
  const task = tables.tasks.get(taskKey(t));
  const row = newRow(tables.lastSeq + 1, t);
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
    seq, id, partition, nodeGroup, taskId, type, priority, createdAt, policy, job, dueAt, owes: t.needFeedback ? t.submitNodeGroup : undefined, first: 'accepted', existingId: '',
    state: 'BLOCKED', endedAt: 0, attempts: 0, retryTimes: 0, lostTimes: 0, fence: 0, worker: { nodeId: '', incarnation: '' }, assignedAt: 0, records: [], message: '', outcome: undefined,
  };
}

function keep(tables: Tables, row: Row): void {
  tables.lastSeq = row.seq;
  tables.rows.set(row.seq, row);
  tables.byId.set(row.id, row);
  tables.live.set(row.seq, row);
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

function enqueue(row: Row, now: number): 'ready' | 'waiting' {
  row.state = row.dueAt <= now ? 'READY' : 'WAITING';
  return row.state === 'READY' ? 'ready' : 'waiting';
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

/** Ends it for good and tells to whom its result is owed. */
function end(tables: Tables, row: Row, state: FinalState, at: number, message: string): string | undefined {
  Object.assign(row, { state, endedAt: at, message, worker: { nodeId: '', incarnation: '' } });
  tables.live.delete(row.seq);
  if (row.owes === undefined || state === 'REPLACED') return undefined;
  const { id, taskId, nodeGroup, owes, outcome, attempts } = row;
  tables.feedback.set(id, {
    seq: ++tables.lastOwed, id, taskId, nodeGroup, submitNodeGroup: owes, state, outcome, message, attempt: attempts, endedAt: at, deliveries: 0, dead: false, nextAt: 0, lastError: '',
  });
  return owes;
}

/** The current one of a task has ended: the next one takes its place. */
function advance(tables: Tables, ended: Row, now: number): { ready?: NewlyReady; waitingUntil?: number } {
  const next = tables.tasks.get(taskKey(ended))?.next;
  if (next === undefined) {
    tables.tasks.delete(taskKey(ended));
    return {};
  }
  tables.tasks.set(taskKey(ended), { current: next, next: undefined });
  return enqueue(next, now) === 'waiting' ? { waitingUntil: next.dueAt } : { ready: newlyReady(next) };
}

function cancel(tables: Tables, t: Cancel): CancelOutcome {
  const outcome: CancelOutcome = { kind: 'cancel', cancelled: [], cancelling: [], ended: [] };
  const named = t.id === undefined ? undefined : tables.byId.get(t.id);
  if (t.id !== undefined && (named?.nodeGroup !== t.nodeGroup || named.partition !== t.partition || named.state === 'IGNORED')) return outcome;
  const task = tables.tasks.get(taskKey({ nodeGroup: t.nodeGroup, taskId: named?.taskId ?? t.taskId ?? '' }));
  if (named !== undefined && !tables.live.has(named.seq)) return { ...outcome, ended: [named.id] };
  if (task === undefined) return outcome;
  if (task.next !== undefined && (named === undefined || named === task.next)) {
    outcome.cancelled.push(cancelWaiting(tables, task.next, t.at));
    task.next = undefined;
    if (named !== undefined) return outcome;
  }
  const { current } = task;
  if (runs(current)) {
    current.state = 'CANCELLING';
    outcome.cancelling.push({ id: current.id, seq: current.seq, attempt: current.attempts });
    return outcome;
  }
  outcome.cancelled.push(cancelWaiting(tables, current, t.at));
  return { ...outcome, ...advance(tables, current, t.at) };
}

function cancelWaiting(tables: Tables, row: Row, at: number): CancelOutcome['cancelled'][number] {
  const placement = row.state.toLowerCase() as 'ready' | 'waiting' | 'blocked';
  const owedTo = end(tables, row, 'CANCELLED', at, row.attempts === 0 ? 'cancelled before it ran' : 'cancelled before its retry');
  return { id: row.id, seq: row.seq, placement, ...(owedTo === undefined ? {} : { owedTo }) };
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

function runs({ state }: Row): boolean {
  return state === 'EXECUTING' || state === 'CANCELLING';
}

/** Equal bytes, or bytes of equal jobs: maps have no order on the wire. */
function sameJob(a: Buffer, b: Buffer): boolean {
  if (a.equals(b)) return true;
  try {
    return isDeepStrictEqual(decodeJob(a), decodeJob(b));
  } catch {
    return false;
  }
}
