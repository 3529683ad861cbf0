import type { Alter, AlterOutcome } from '../../queue-store.js';
import { isByHand } from '../../task-key.js';
import { endCurrent } from './end-queued.js';
import { storedId } from './known-ids.js';
import { endSchedule, letRunsGoOn, runsOf, scheduleOf } from './live-schedules.js';
import type { LiveSchedule } from './schedule-sql.js';
import { factsOf, type WriterState } from './writer-state.js';

/** Suspends, resumes, deletes a schedule, or gives it its next time. */
export function alter(w: WriterState, t: Alter): AlterOutcome {
  const groupId = w.names.knownGroup(t.nodeGroup);
  const live = groupId === undefined ? undefined : scheduleOf(w, groupId, t.taskId);
  const outcome: AlterOutcome = { kind: 'alter', result: 'unknown', sched: 0, version: 0, cancelled: [], running: [] };
  if (live === undefined || live.part !== t.partition) return outcome;
  const { sched, version } = live;
  if (isStale(t, live)) return { ...outcome, result: 'stale', sched, version };
  if (standsSo(t, live)) return { ...outcome, result: 'unchanged', sched, version };
  Object.assign(outcome, { result: 'done', sched, version: t.change === 'delete' ? version : version + 1 });
  if (t.change === 'delete') endSchedule(w, live, t.at);
  else w.schedules.alter.run(t.change === 'suspend' ? 0 : 1, t.change === 'suspend' ? null : (t.nextAt ?? null), t.at, sched);
  if (t.change === 'resume') letRunsGoOn(w, live.groupId, t.taskId);
  else if (t.change !== 'next') endRuns(w, t, live.groupId, outcome);
  return outcome;
}

function isStale({ change, version }: Alter, live: LiveSchedule): boolean {
  const needed = change === 'resume' || change === 'next';
  return version !== live.version && (needed || version !== undefined);
}

function standsSo({ change }: Alter, { active, nextAt }: LiveSchedule): boolean {
  switch (change) {
    case 'suspend':
      return active === 0;
    case 'resume':
      return active === 1;
    case 'next':
      return active === 0 || nextAt !== null;
    case 'delete':
      return false;
  }
}

/** What waits ends; what runs has its last attempt. */
function endRuns(w: WriterState, t: Alter, groupId: number, outcome: AlterOutcome): void {
  const message = `cancelled: its schedule was ${t.change === 'suspend' ? 'suspended' : 'deleted'}`;
  for (const run of runsOf(w, groupId, t.taskId)) {
    if (t.change === 'suspend' && isByHand(run.taskKey)) continue;
    const running = w.sql.executing.get(run.seq);
    if (running !== undefined) {
      w.schedules.markLast.run(run.seq);
      outcome.running.push({ id: storedId(w, run.seq), seq: run.seq, attempt: running.attempt });
      continue;
    }
    const facts = factsOf(w, run.seq, t.partition);
    if (facts === undefined) throw new Error(`run ${run.seq} lives but is not stored`);
    outcome.cancelled.push(endCurrent(w, run, facts, { state: 'CANCELLED', message, at: t.at }));
    w.sql.endTask.run(groupId, run.taskKey);
  }
}
