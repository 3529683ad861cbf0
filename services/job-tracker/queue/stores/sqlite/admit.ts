import { idToBytes } from '../../../../../shared/ids.js';
import type { Admit, AdmitOutcome, Placement } from '../../queue-store.js';
import { stateCodes } from '../codes.js';
import { policyText } from '../policy-text.js';
import type { Facts } from './facts-cache.js';
import { answerAgain, answers, ignore, storedId } from './known-ids.js';
import { scheduleOf } from './live-schedules.js';
import { countsOf, leaveQueue } from './queued.js';
import type { TaskRow } from './writer-sql.js';
import { enqueue, factsOf, noCounts, type WriterState } from './writer-state.js';

/**
 * Step 1, take in: a known id gets its first answer again; a task has at most one current and one next instance, and
 * none beside a live schedule.
 */
export function admit(w: WriterState, t: Admit): AdmitOutcome {
  const groupId = w.names.group(t.nodeGroup, t.partition);
  const clientId = t.needFeedback ? w.names.client(t.submitNodeGroup) : 0;
  const seq = w.lastSeq + 1;
  const policy = policyText(t.policy);
  const added = w.sql.addInstance.run(
    seq, t.id, groupId, t.taskId, t.type, t.priority, t.dueAt, t.createdAt, clientId === 0 ? null : clientId, policy === '' ? null : policy, t.job,
  );
  if (added.changes === 0) return { kind: 'admit', ...answerAgain(w, t) };
  w.lastSeq = seq;
  const schedule = scheduleOf(w, groupId, t.taskId);
  if (schedule !== undefined) return duplicate(w, t, seq, storedId(w, schedule.seq));
  const facts: Facts = { partition: t.partition, groupId, taskId: t.taskId, priority: t.priority, dueAt: t.dueAt, clientId };
  w.facts.set(seq, facts);
  if (w.sql.addTask.run(groupId, t.taskId, seq, t.dueAt).changes > 0) {
    return { kind: 'admit', result: 'accepted', seq, placement: place(w, t, seq, facts) };
  }
  const task = w.sql.task.get(groupId, t.taskId);
  if (task === undefined) throw new Error(`task ${t.taskId} conflicts but is not stored`);
  return admitBeside(w, t, seq, facts, task);
}

/** A current instance is there already. */
function admitBeside(w: WriterState, t: Admit, seq: number, facts: Facts, task: TaskRow): AdmitOutcome {
  if (task.nextSeq === null && w.sql.executing.get(task.seq) !== undefined) {
    w.sql.setNext.run(seq, facts.groupId, t.taskId);
    return { kind: 'admit', result: 'accepted', seq, placement: 'blocked' };
  }
  const existing = task.nextSeq ?? task.seq;
  const existingId = storedId(w, existing);
  // What was kept in a FailStore comes late: it does not replace what was submitted after it.
  if (!t.replaceOnExist || (t.fromFailStore && t.id < existingId)) return duplicate(w, t, seq, existingId);
  w.sql.answered.run(answers.replaced, idToBytes(existingId), seq);
  if (task.nextSeq !== null) {
    w.sql.endWaiting.run(existing, stateCodes.REPLACED, t.createdAt, 0, 0, 0, `replaced by ${t.id}`, null);
    w.facts.delete(existing);
    w.sql.setNext.run(seq, facts.groupId, t.taskId);
    return { kind: 'admit', result: 'replaced', seq, placement: 'blocked', existingId, existingSeq: existing, existingPlacement: 'blocked' };
  }
  return replaceCurrent(w, t, seq, facts, task, existingId);
}

function replaceCurrent(w: WriterState, t: Admit, seq: number, facts: Facts, task: TaskRow, existingId: string): AdmitOutcome {
  const old = factsOf(w, task.seq, t.partition);
  if (old === undefined) throw new Error(`instance ${task.seq} is current but not stored in partition ${t.partition}`);
  const where = { ...old, dueAt: task.dueAt };
  const counts = countsOf(w, task.seq, where);
  const existingPlacement = leaveQueue(w, task.seq, where);
  w.sql.endWaiting.run(task.seq, stateCodes.REPLACED, t.createdAt, counts.attempts, counts.retryTimes, counts.lostTimes, `replaced by ${t.id}`, null);
  w.facts.delete(task.seq);
  w.sql.setCurrent.run(seq, t.dueAt, null, facts.groupId, t.taskId);
  const placement = place(w, t, seq, facts);
  return { kind: 'admit', result: 'replaced', seq, placement, existingId, existingSeq: task.seq, existingPlacement };
}

/** Puts a new current instance into its queue, or hands it out when a slot is reserved. */
function place(w: WriterState, t: Admit, seq: number, facts: Facts): Placement {
  if (t.start === undefined || t.dueAt > t.createdAt) return enqueue(w, seq, facts, t.createdAt, noCounts);
  w.sql.addExecuting.run(seq, t.start.fence, w.names.worker(t.start.worker, t.createdAt), t.createdAt);
  return 'started';
}

function duplicate(w: WriterState, t: Admit, seq: number, existingId: string): AdmitOutcome {
  w.facts.delete(seq);
  ignore(w, t, seq, existingId);
  return { kind: 'admit', result: 'duplicate', existingId };
}
