import type { Timetable } from '../../../shared/schedule/timetable.js';

/** Missed times that are told one by one. */
export const mostMissed = 1_000;
/** Counting what is older stops here. */
export const mostCounted = 10_000;

/** Scheduled times that have come, oldest first. Milliseconds. */
export interface OwedTimes {
  /** Missed times that are too many to be told one by one. */
  older: { count: number; from: number; to: number } | undefined;
  /** Late by more than the threshold. */
  missed: number[];
  /** Those that are late by less; at most `atOnce` of all. */
  onTime: number[];
  /** The scheduled time after these, which may have come as well; undefined: there is none. */
  next: number | undefined;
}

/**
 * The times from the stored one up to now. It costs a bounded number of steps, however long nobody looked: of a job of
 * every second that rested for a week the newest missed times are searched from now backwards.
 *
 * @param from the stored next time: owed whatever the timetable says by now
 * @param threshold what is late by more is missed
 * @param atOnce how many times one fire can answer
 */
export function owedTimes(timetable: Timetable, from: number, now: number, threshold: number, atOnce: number): OwedTimes {
  const onTimeFrom = now - threshold;
  const missed = take(timetable, from, Math.min(onTimeFrom, now + 1), 2 * mostMissed);
  let older: OwedTimes['older'];
  const lastSeen = missed.at(-1);
  const following = lastSeen === undefined ? from : timetable.next(lastSeen + 1);
  if (missed.length > mostMissed && following !== undefined) {
    const newest = following < onTimeFrom ? newestBefore(timetable, following, onTimeFrom) : [];
    missed.push(...newest);
    const cut = missed.length - mostMissed;
    const between = following < onTimeFrom ? count(timetable, following, newest[0] ?? following, mostCounted) : 0;
    const to = missed[cut - 1] as number;
    older = { count: Math.min(mostCounted, cut + between), from, to };
    missed.splice(0, cut);
  }
  const left = Math.max(0, atOnce - missed.length - (older === undefined ? 0 : 1));
  const afterMissed = missed.at(-1);
  const onTime = take(timetable, afterMissed === undefined ? from : afterMissed + 1, now + 1, left, afterMissed === undefined);
  const last = onTime.at(-1) ?? afterMissed;
  return { older, missed, onTime, next: last === undefined ? from : timetable.next(last + 1) };
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

/** The newest times before `end`, at least `mostMissed` of them if there are so many from `from` on. */
function newestBefore(timetable: Timetable, from: number, end: number): number[] {
  const enough = (start: number): number => count(timetable, start, end, 4 * mostMissed);
  let few = end;
  let many = end;
  for (let span = 1_000; many > from; span *= 2) {
    few = many;
    many = Math.max(from, end - span);
    if (enough(many) >= mostMissed) break;
  }
  // Times may lie close together after a long gap: then the last step went too far.
  while (few - many > 1 && enough(many) >= 4 * mostMissed) {
    const middle = Math.floor((few + many) / 2);
    if (enough(middle) >= mostMissed) many = middle;
    else few = middle;
  }
  return take(timetable, many, end, Number.POSITIVE_INFINITY, false);
}
