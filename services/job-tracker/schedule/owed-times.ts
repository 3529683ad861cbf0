import type { Timetable } from '../../../shared/schedule/timetable.js';

/** Missed times that are told one by one. */
export const mostMissed = 1_000;
/** Counting what is older stops here. */
export const mostCounted = 10_000;

/** Scheduled times that have come, oldest first. Milliseconds. */
export interface OwedTimes {
  /** Missed times that are too many to be told one by one. */
  older: { count: number; from: number; to: number } | undefined;
  /** All that have come, when the oldest of them is late by more than the threshold; otherwise none. */
  missed: number[];
  /** Those that have come, when the oldest of them is late by less; at most `atOnce`. */
  onTime: number[];
  /** The scheduled time after these, which may have come as well; undefined: there is none. */
  next: number | undefined;
}

/**
 * The times from the stored one up to now. It costs a bounded number of steps, however long nobody looked: of a job of
 * every second that rested for a week the newest missed times are searched from now backwards.
 *
 * @param from the stored next time: owed whatever the timetable says by now; it alone tells whether times were missed
 * @param threshold when it is late by more, nobody could fire
 * @param atOnce how many times that are on time one fire answers
 */
export function owedTimes(timetable: Timetable, from: number, now: number, threshold: number, atOnce: number): OwedTimes {
  if (from >= now - threshold) {
    const onTime = take(timetable, from, now + 1, atOnce);
    return { older: undefined, missed: [], onTime, next: after(timetable, onTime, from) };
  }
  const { older, missed } = missedTimes(timetable, from, now + 1);
  return { older, missed, onTime: [], next: after(timetable, missed, from) };
}

/** All times from `from` until before `end`: the newest one by one, the older ones summed up. */
function missedTimes(timetable: Timetable, from: number, end: number): Pick<OwedTimes, 'older' | 'missed'> {
  const times = take(timetable, from, end, 2 * mostMissed);
  if (times.length <= mostMissed) return { older: undefined, missed: times };
  const following = after(timetable, times, from);
  const left = following !== undefined && following < end ? following : undefined;
  const newest = left === undefined ? [] : newestBefore(timetable, left, end);
  const between = left === undefined ? 0 : count(timetable, left, newest[0] ?? left, mostCounted);
  times.push(...newest);
  const older = times.splice(0, times.length - mostMissed);
  return { older: { count: Math.min(mostCounted, older.length + between), from, to: older.at(-1) ?? from }, missed: times };
}

/** The time after the last of these; without any it is `from`. */
function after(timetable: Timetable, times: readonly number[], from: number): number | undefined {
  const last = times.at(-1);
  return last === undefined ? from : timetable.next(last + 1);
}

/** Times from `from` (itself, where `owed`) until before `end`, at most so many. */
function take(timetable: Timetable, from: number, end: number, most: number, owed = true): number[] {
  const times: number[] = [];
  for (let at = owed ? from : timetable.next(from); at !== undefined && at < end && times.length < most; at = timetable.next(at + 1)) times.push(at);
  return times;
}

/** How many times there are, counted up to `most`. */
function count(timetable: Timetable, from: number, end: number, most: number): number {
  let counted = 0;
  for (let at = timetable.next(from); at !== undefined && at < end && counted < most; at = timetable.next(at + 1)) counted++;
  return counted;
}

/** The newest times before `end`, more than `mostMissed` of them if there are so many from `from` on: the one before those is the last that is summed up. */
function newestBefore(timetable: Timetable, from: number, end: number): number[] {
  const enough = (start: number): number => count(timetable, start, end, 4 * mostMissed);
  let few = end;
  let many = end;
  for (let span = 1_000; many > from; span *= 2) {
    few = many;
    many = Math.max(from, end - span);
    if (enough(many) > mostMissed) break;
  }
  // Times may lie close together after a long gap: then the last step went too far.
  while (few - many > 1 && enough(many) >= 4 * mostMissed) {
    const middle = Math.floor((few + many) / 2);
    if (enough(middle) > mostMissed) many = middle;
    else few = middle;
  }
  return take(timetable, many, end, Number.POSITIVE_INFINITY, false);
}
