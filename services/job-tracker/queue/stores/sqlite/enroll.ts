import { idToBytes } from '../../../../../shared/ids.js';
import type { Enroll, EnrollOutcome } from '../../queue-store.js';
import { policyText } from '../policy-text.js';
import { answerAgain, answers, ignore, keepIdOnly, storedId } from './known-ids.js';
import { letRunsGoOn, scheduleOf } from './live-schedules.js';
import type { LiveSchedule } from './schedule-sql.js';
import type { WriterState } from './writer-state.js';

/** Takes a schedule in: a known id gets its first answer again; a task has at most one live schedule. */
export function enroll(w: WriterState, t: Enroll): EnrollOutcome {
  const groupId = w.names.group(t.nodeGroup, t.partition);
  const submitId = w.names.client(t.submitNodeGroup);
  const seq = w.lastSeq + 1;
  const policy = policyText(t.policy);
  const added = w.sql.addInstance.run(
    seq, t.id, groupId, t.taskId, t.type, t.priority, t.nextAt ?? t.createdAt, t.createdAt, t.needFeedback ? submitId : null, policy === '' ? null : policy, t.job,
  );
  if (added.changes === 0) return { kind: 'enroll', ...answerAgain(w, t) };
  w.lastSeq = seq;
  const oneShot = w.sql.task.get(groupId, t.taskId);
  if (oneShot !== undefined) return duplicate(w, t, seq, storedId(w, oneShot.nextSeq ?? oneShot.seq));
  const live = scheduleOf(w, groupId, t.taskId);
  if (live !== undefined) return enrollBeside(w, t, seq, submitId, live);
  w.sql.answered.run(answers.scheduleAccepted, null, seq);
  w.schedules.add.run(seq, seq, t.partition, groupId, t.taskId, submitId, t.nextAt ?? null, t.createdAt, t.plan);
  w.scheduled.add(groupId);
  return { kind: 'enroll', result: 'accepted', sched: seq, version: 1 };
}

/** A live schedule is there already. */
function enrollBeside(w: WriterState, t: Enroll, seq: number, submitId: number, live: LiveSchedule): EnrollOutcome {
  const existingId = storedId(w, live.seq);
  // What was kept in a FailStore comes late: it does not replace what was submitted after it.
  if (!t.replaceOnExist || (t.fromFailStore && t.id < existingId)) return duplicate(w, t, seq, existingId);
  w.sql.answered.run(answers.scheduleReplaced, idToBytes(existingId), seq);
  w.schedules.replace.run(seq, submitId, t.createdAt, t.nextAt ?? null, t.createdAt, t.plan, live.sched);
  keepIdOnly(w, live.seq, t.createdAt);
  letRunsGoOn(w, live.groupId, t.taskId);
  return { kind: 'enroll', result: 'replaced', sched: live.sched, version: live.version + 1, existingId };
}

function duplicate(w: WriterState, t: Enroll, seq: number, existingId: string): EnrollOutcome {
  ignore(w, t, seq, existingId);
  return { kind: 'enroll', result: 'duplicate', existingId };
}
