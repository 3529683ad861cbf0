import { runKeyRanges } from '../../task-key.js';
import { keepIdOnly } from './known-ids.js';
import type { LiveRun, LiveSchedule } from './schedule-sql.js';
import type { WriterState } from './writer-state.js';

/** Of more runs than this those that workers have are looked for among all that workers have. */
const few = 1_000;

/** The live schedule of a task. Costs nothing where a group has none. */
export function scheduleOf(w: WriterState, groupId: number, taskId: string): LiveSchedule | undefined {
  return w.scheduled.has(groupId) ? w.schedules.byTask.get(groupId, taskId) : undefined;
}

/** It fires no more; its id stays known until it is purged. */
export function endSchedule(w: WriterState, { sched, seq }: LiveSchedule, at: number): void {
  w.schedules.remove.run(sched);
  keepIdOnly(w, seq, at);
}

/** Live runs of a task by their keys, from this key on. */
export function runsFrom(w: WriterState, groupId: number, taskId: string, key: string, limit: number): LiveRun[] {
  let runs: LiveRun[] = [];
  for (const [from, to] of runKeyRanges(taskId)) {
    const room = limit - runs.length;
    if (room > 0) runs = runs.concat(w.schedules.runs.all(groupId, key > from ? key : from, to, room === Infinity ? -1 : room));
  }
  return runs;
}

/** The live runs of a task, by arrival; undefined: there are more than `most`. */
export function runsUpTo(w: WriterState, groupId: number, taskId: string, most: number): LiveRun[] | undefined {
  const runs = runsFrom(w, groupId, taskId, '', most + 1);
  return runs.length > most ? undefined : runs.sort((a, b) => a.seq - b.seq);
}

/** Those that workers have, by arrival. */
export function runningOf(w: WriterState, groupId: number, taskId: string): LiveRun[] {
  return w.schedules.running.all(groupId, ...runKeyRanges(taskId).flat());
}

/** Its runs may wait for a retry again. */
export function letRunsGoOn(w: WriterState, groupId: number, taskId: string): void {
  for (const { seq } of runsUpTo(w, groupId, taskId, few) ?? runningOf(w, groupId, taskId)) w.schedules.unmarkLast.run(seq);
}

/** Which groups have schedules, as the tables say. */
export function lookForSchedules(w: WriterState): void {
  w.scheduled.clear();
  for (const groupId of w.schedules.groups.all()) w.scheduled.add(groupId);
}
