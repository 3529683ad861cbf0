import type { Cancel, CancelOutcome } from '../../queue-store.js';
import { ignoredCode } from '../codes.js';
import { endCurrent, endNext, type QueuedEnd } from './end-queued.js';
import { areTooMany, stopRuns } from './end-runs.js';
import { storedId } from './known-ids.js';
import { endSchedule, scheduleOf } from './live-schedules.js';
import type { TaskRow } from './writer-sql.js';
import { advanceTask, factsOf, type WriterState } from './writer-state.js';

/** Ends what waits and marks what runs, of one instance or of a task. */
export function cancel(w: WriterState, t: Cancel): CancelOutcome {
  const outcome: CancelOutcome = { kind: 'cancel', cancelled: [], cancelling: [], ended: [] };
  const groupId = w.names.knownGroup(t.nodeGroup);
  if (groupId === undefined) return outcome;
  if (t.id !== undefined) cancelInstance(w, t, t.id, groupId, outcome);
  else if (t.taskId !== undefined && areTooMany(w, groupId, t.taskId, t)) outcome.many = true;
  else if (t.taskId !== undefined) cancelTask(w, t, t.taskId, groupId, outcome);
  return outcome;
}

function cancelInstance(w: WriterState, t: Cancel, id: string, groupId: number, outcome: CancelOutcome): void {
  const found = w.sql.seqById.get(id);
  if (found === undefined || found.groupId !== groupId) return;
  const facts = factsOf(w, found.seq, t.partition);
  if (facts === undefined) return;
  const state = w.sql.endedState.get(found.seq);
  if (state !== undefined) {
    if (state !== ignoredCode) outcome.ended.push(id);
    return;
  }
  const task = w.sql.task.get(groupId, facts.taskId);
  // The id of a live schedule names no instance.
  if (task === undefined) return;
  if (task.nextSeq === found.seq) cancelNext(w, t, found.seq, outcome);
  else cancelCurrent(w, t, task, outcome);
}

function cancelTask(w: WriterState, t: Cancel, taskId: string, groupId: number, outcome: CancelOutcome): void {
  const task = w.sql.task.get(groupId, taskId);
  if (task !== undefined) {
    if (task.nextSeq !== null) cancelNext(w, t, task.nextSeq, outcome);
    cancelCurrent(w, t, task, outcome);
  }
  const schedule = scheduleOf(w, groupId, taskId);
  if (schedule !== undefined) {
    outcome.schedule = storedId(w, schedule.seq);
    endSchedule(w, schedule, t.at);
  }
  const { cancelled, running, left } = stopRuns(w, { partition: t.partition, groupId, taskId, by: 'cancel', at: t.at }, t.bound?.most);
  outcome.cancelled.push(...cancelled);
  outcome.cancelling.push(...running);
  if (left) outcome.left = left;
}

function cancelNext(w: WriterState, t: Cancel, seq: number, outcome: CancelOutcome): void {
  const facts = factsOf(w, seq, t.partition);
  if (facts === undefined) return;
  outcome.cancelled.push(endNext(w, seq, facts, endOf(t)));
}

function cancelCurrent(w: WriterState, t: Cancel, task: Pick<TaskRow, 'seq' | 'dueAt'>, outcome: CancelOutcome): void {
  const facts = factsOf(w, task.seq, t.partition);
  if (facts === undefined) return;
  const running = w.sql.executing.get(task.seq);
  if (running !== undefined) {
    if (t.as !== undefined) return;
    w.sql.setCancelling.run(task.seq);
    outcome.cancelling.push({ id: storedId(w, task.seq), seq: task.seq, attempt: running.attempt });
    return;
  }
  outcome.cancelled.push(endCurrent(w, task, facts, endOf(t)));
  Object.assign(outcome, advanceTask(w, facts.groupId, facts.taskId, t.partition, t.at));
}

function endOf({ as, at }: Cancel): QueuedEnd {
  return { state: as?.state ?? 'CANCELLED', message: as?.message, at };
}
