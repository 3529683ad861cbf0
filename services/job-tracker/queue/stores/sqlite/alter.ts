import type { Alter, AlterOutcome } from '../../queue-store.js';
import { areTooMany, stopRuns } from './end-runs.js';
import { endSchedule, letRunsGoOn, scheduleOf } from './live-schedules.js';
import type { LiveSchedule } from './schedule-sql.js';
import type { WriterState } from './writer-state.js';

/** Suspends, resumes, deletes a schedule, or gives it its next time. */
export function alter(w: WriterState, t: Alter): AlterOutcome {
  const groupId = w.names.knownGroup(t.nodeGroup);
  const live = groupId === undefined ? undefined : scheduleOf(w, groupId, t.taskId);
  const outcome: AlterOutcome = { kind: 'alter', result: 'unknown', sched: 0, version: 0, cancelled: [], running: [] };
  if (live === undefined || live.part !== t.partition) return outcome;
  const { sched, version } = live;
  if (isStale(t, live)) return { ...outcome, result: 'stale', sched, version };
  if (standsSo(t, live)) return { ...outcome, result: 'unchanged', sched, version };
  const ends = t.change === 'suspend' || t.change === 'delete' ? t.change : undefined;
  if (ends !== undefined && areTooMany(w, live.groupId, t.taskId, t)) return { ...outcome, result: 'many', sched, version };
  Object.assign(outcome, { result: 'done', sched, version: t.change === 'delete' ? version : version + 1 });
  if (t.change === 'delete') endSchedule(w, live, t.at);
  else w.schedules.alter.run(t.change === 'suspend' ? 0 : 1, t.change === 'suspend' ? null : (t.nextAt ?? null), t.at, sched);
  if (t.change === 'resume') letRunsGoOn(w, live.groupId, t.taskId);
  if (ends === undefined) return outcome;
  return { ...outcome, ...stopRuns(w, { partition: t.partition, groupId: live.groupId, taskId: t.taskId, by: ends, at: t.at }, t.bound?.most) };
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
