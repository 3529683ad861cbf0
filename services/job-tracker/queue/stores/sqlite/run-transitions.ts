import { type Finish, type FinishOutcome, heldUntil, type Late, type LateOutcome, type Promote, type PromoteOutcome, type Reassign, type ReassignOutcome, type Start, type StartOutcome } from '../../queue-store.js';
import { outcomeCodes, stateCodes } from '../codes.js';
import type { Facts } from './facts-cache.js';
import { advanceTask, enqueue, type Freed, factsOf, freshFactsOf, newlyReady, type WriterState } from './writer-state.js';

/** Step 3, hand out: the ready row becomes an executing one. */
export function start(w: WriterState, t: Start): StartOutcome {
  const cached = w.facts.get(t.seq);
  const started = (cached?.partition === t.partition && startFrom(w, t, cached)) || startFrom(w, t, freshFactsOf(w, t.seq, t.partition));
  if (!started) return { kind: 'start', started: false };
  return { kind: 'start', started: true, ...(t.wantJob ? { job: w.sql.job.get(t.seq) } : {}) };
}

function startFrom(w: WriterState, t: Start, facts: Facts | undefined): boolean {
  if (facts === undefined) return false;
  const { groupId, priority, dueAt } = facts;
  const worker = w.names.worker(t.worker, t.at);
  if (w.sql.execute.run(t.fence, worker, t.at, groupId, priority, dueAt, t.seq, t.attempt - 1).changes === 0) return false;
  w.sql.removeReady.run(groupId, priority, dueAt, t.seq);
  return true;
}

/** The attempt goes to another worker under the same number. */
export function reassign(w: WriterState, t: Reassign): ReassignOutcome {
  if (factsOf(w, t.seq, t.partition) === undefined) return { kind: 'reassign', applied: false };
  const applied = w.sql.reassign.run(w.names.worker(t.worker, t.at), t.at, t.seq, t.attempt).changes > 0;
  return applied ? { kind: 'reassign', applied, job: w.sql.job.get(t.seq) } : { kind: 'reassign', applied };
}

/** Step 5, complete: the record of the attempt, then the end or the retry of the instance. */
export function finish(w: WriterState, t: Finish): FinishOutcome {
  const facts = factsOf(w, t.seq, t.partition);
  if (facts === undefined) return { kind: 'finish', applied: false };
  return 'state' in t.next ? end(w, t, facts, t.next.state) : goOn(w, t, facts, t.next);
}

function end(w: WriterState, t: Finish, facts: Facts, state: keyof typeof stateCodes): FinishOutcome {
  const { outcome, message, startedAt, truncated } = t.end;
  const owed = facts.clientId === 0 ? null : w.lastOwed + 1;
  const lost = outcome === 'LOST' ? 1 : 0;
  const ended = w.sql.endRun.run(stateCodes[state], t.at, lost, message, owed, startedAt, outcomeCodes[outcome], truncated ? 1 : 0, t.seq, t.attempt);
  if (ended.changes === 0) return { kind: 'finish', applied: false };
  w.sql.removeExecuting.run(t.seq);
  const freed = advanceTask(w, facts.groupId, facts.taskId, t.partition, t.at);
  w.facts.delete(t.seq);
  return outcomeOf(freed, oweResult(w, t.seq, facts, owed));
}

function outcomeOf(freed: Freed, owedTo: string | undefined): FinishOutcome {
  const outcome: FinishOutcome = { kind: 'finish', applied: true };
  if (freed.ready !== undefined) outcome.ready = freed.ready;
  if (freed.waitingUntil !== undefined) outcome.waitingUntil = freed.waitingUntil;
  if (owedTo !== undefined) outcome.owedTo = owedTo;
  return outcome;
}

/** Puts the result of an ended instance into the feedback queue under the number `owed`, null: none; tells to whom. */
export function oweResult(w: WriterState, seq: number, facts: Facts, owed: number | null): string | undefined {
  if (owed === null) return undefined;
  w.lastOwed = owed;
  w.sql.owe.run(facts.clientId, owed, seq);
  return w.names.clientName(facts.clientId);
}

function goOn(w: WriterState, t: Finish, facts: Facts, next: { dueAt: number; retryTimes: number; lostTimes: number }): FinishOutcome {
  const { outcome, message, startedAt, truncated } = t.end;
  const ended = w.sql.endAttempt.run(startedAt, t.at, outcomeCodes[outcome], message, truncated ? 1 : 0, t.seq, t.attempt);
  if (ended.changes === 0) return { kind: 'finish', applied: false, ...(w.schedules.isLastAttempt.get(t.seq, t.attempt) === 1 ? { over: true } : {}) };
  w.sql.removeExecuting.run(t.seq);
  const task = w.sql.task.get(facts.groupId, facts.taskId);
  if (task?.seq !== t.seq) throw new Error(`instance ${t.seq} executes but is not current of its task`);
  w.sql.setCurrent.run(t.seq, next.dueAt, task.nextSeq, facts.groupId, facts.taskId);
  const moved: Facts = { ...facts, dueAt: next.dueAt };
  w.facts.set(t.seq, moved);
  const counts = { attempts: t.attempt, retryTimes: next.retryTimes, lostTimes: next.lostTimes };
  if (enqueue(w, t.seq, moved, t.at, counts) === 'waiting') return { kind: 'finish', applied: true, waitingUntil: next.dueAt };
  return { kind: 'finish', applied: true, ready: newlyReady(w, t.seq, moved, counts) };
}

/** Step 2: waiting rows whose time has come become ready. */
export function promote(w: WriterState, t: Promote): PromoteOutcome {
  const ready: PromoteOutcome['ready'] = [];
  for (const row of w.sql.dueRows.all(t.partition, Math.min(t.now, heldUntil - 1), t.limit)) {
    const known = factsOf(w, row.seq, t.partition);
    if (known === undefined) throw new Error(`instance ${row.seq} waits but is not stored`);
    const facts: Facts = known.dueAt === row.dueAt ? known : { ...known, dueAt: row.dueAt };
    w.facts.set(row.seq, facts);
    w.sql.removeWaiting.run(t.partition, row.dueAt, row.seq);
    w.sql.addReady.run(row.groupId, facts.priority, row.dueAt, row.seq, row.attempts, row.retryTimes, row.lostTimes);
    ready.push(newlyReady(w, row.seq, facts, row));
  }
  return { kind: 'promote', ready, nextDueAt: w.sql.nextDue.get(t.partition) };
}

/** A result after the end of its attempt: the first one is kept beside it. */
export function late(w: WriterState, t: Late): LateOutcome {
  const found = w.sql.seqById.get(t.id);
  if (found === undefined || factsOf(w, found.seq, t.partition) === undefined) return { kind: 'late', known: false };
  const record = { outcome: outcomeCodes[t.outcome], message: t.message, seq: found.seq, attempt: t.attempt };
  const kept = w.sql.lateOnAttempt.run(record).changes + w.sql.lateOnEnd.run(record).changes;
  return { kind: 'late', known: kept > 0 || w.sql.knowsAttempt.get({ seq: found.seq, attempt: t.attempt }) === 1 };
}
