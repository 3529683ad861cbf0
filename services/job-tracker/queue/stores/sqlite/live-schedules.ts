import { runKeyRanges } from '../../task-key.js';
import { keepIdOnly } from './known-ids.js';
import type { LiveRun, LiveSchedule } from './schedule-sql.js';
import type { WriterState } from './writer-state.js';

/** The live schedule of a task. Costs nothing where a group has none. */
export function scheduleOf(w: WriterState, groupId: number, taskId: string): LiveSchedule | undefined {
  return w.scheduled.has(groupId) ? w.schedules.byTask.get(groupId, taskId) : undefined;
}

/** It fires no more; its id stays known until it is purged. */
export function endSchedule(w: WriterState, { sched, seq }: LiveSchedule, at: number): void {
  w.schedules.remove.run(sched);
  keepIdOnly(w, seq, at);
}

/** The live runs of a task, by arrival. */
export function runsOf(w: WriterState, groupId: number, taskId: string): LiveRun[] {
  return runKeyRanges(taskId)
    .flatMap(([from, to]) => w.schedules.runs.all(groupId, from, to))
    .toSorted((a, b) => a.seq - b.seq);
}

/** Its runs may wait for a retry again. */
export function letRunsGoOn(w: WriterState, groupId: number, taskId: string): void {
  for (const { seq } of runsOf(w, groupId, taskId)) w.schedules.unmarkLast.run(seq);
}

/** Which groups have schedules, as the tables say. */
export function lookForSchedules(w: WriterState): void {
  w.scheduled.clear();
  for (const groupId of w.schedules.groups.all()) w.scheduled.add(groupId);
}
