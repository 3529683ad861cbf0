import { idFromBytes } from '../../../../../shared/ids.js';
import type { Cancel, CancelOutcome } from '../../queue-store.js';
import type { Facts } from './facts-cache.js';
import { ignoredCode, stateCodes } from '../codes.js';
import { countsOf, leaveQueue } from './queued.js';
import { oweResult } from './run-transitions.js';
import type { Counts, TaskRow } from './writer-sql.js';
import { advanceTask, factsOf, noCounts, type WriterState } from './writer-state.js';

/** Ends what waits and marks what runs, of one instance or of a task. */
export function cancel(w: WriterState, t: Cancel): CancelOutcome {
  const outcome: CancelOutcome = { kind: 'cancel', cancelled: [], cancelling: [], ended: [] };
  const groupId = w.names.knownGroup(t.nodeGroup);
  if (groupId === undefined) return outcome;
  if (t.id !== undefined) cancelInstance(w, t, t.id, groupId, outcome);
  else if (t.taskId !== undefined) cancelTask(w, t, t.taskId, groupId, outcome);
  return outcome;
}

function cancelInstance(w: WriterState, t: Cancel, id: string, groupId: number, outcome: CancelOutcome): void {
  const found = w.sql.seqById.get(id);
  if (found === undefined || found.groupId !== groupId) return;
  const facts = factsOf(w, found.seq, t.partition);
  if (facts === undefined) return;
  const state = w.sql.endedState.get(found.seq);
  if (state === ignoredCode) return;
  const task = state === undefined ? w.sql.task.get(groupId, facts.taskId) : undefined;
  if (task === undefined) outcome.ended.push(id);
  else if (task.nextSeq === found.seq) cancelNext(w, t, found.seq, outcome);
  else cancelCurrent(w, t, task, outcome);
}

function cancelTask(w: WriterState, t: Cancel, taskId: string, groupId: number, outcome: CancelOutcome): void {
  const task = w.sql.task.get(groupId, taskId);
  if (task === undefined) return;
  if (task.nextSeq !== null) cancelNext(w, t, task.nextSeq, outcome);
  cancelCurrent(w, t, task, outcome);
}

function cancelNext(w: WriterState, t: Cancel, seq: number, outcome: CancelOutcome): void {
  const facts = factsOf(w, seq, t.partition);
  if (facts === undefined) return;
  w.sql.setNext.run(null, facts.groupId, facts.taskId);
  end(w, t, seq, facts, 'blocked', noCounts, outcome);
}

function cancelCurrent(w: WriterState, t: Cancel, task: TaskRow, outcome: CancelOutcome): void {
  const facts = factsOf(w, task.seq, t.partition);
  if (facts === undefined) return;
  const running = w.sql.executing.get(task.seq);
  if (running !== undefined) {
    w.sql.setCancelling.run(task.seq);
    outcome.cancelling.push({ id: idOf(w, task.seq), seq: task.seq, attempt: running.attempt });
    return;
  }
  const where = { ...facts, dueAt: task.dueAt };
  const counts = countsOf(w, task.seq, where);
  const placement = leaveQueue(w, task.seq, where);
  end(w, t, task.seq, facts, placement, counts, outcome);
  Object.assign(outcome, advanceTask(w, facts.groupId, facts.taskId, t.partition, t.at));
}

function end(w: WriterState, t: Cancel, seq: number, facts: Facts, placement: 'ready' | 'waiting' | 'blocked', counts: Counts, outcome: CancelOutcome): void {
  const { attempts, retryTimes, lostTimes } = counts;
  const owed = facts.clientId === 0 ? null : w.lastOwed + 1;
  const message = attempts === 0 ? 'cancelled before it ran' : 'cancelled before its retry';
  w.sql.endWaiting.run(seq, stateCodes.CANCELLED, t.at, attempts, retryTimes, lostTimes, message, owed);
  const owedTo = oweResult(w, seq, facts, owed);
  outcome.cancelled.push({ id: idOf(w, seq), seq, placement, ...(owedTo === undefined ? {} : { owedTo }) });
  w.facts.delete(seq);
}

function idOf(w: WriterState, seq: number): string {
  const id = w.sql.idOf.get(seq);
  if (id === undefined) throw new Error(`instance ${seq} is queued but not stored`);
  return idFromBytes(id);
}
