import { LtsError } from '../errors/lts-error.js';
import type { Timetable } from './timetable.js';

/** first, first + interval, first + 2 * interval and so on, without end. Milliseconds. Throws INVALID_ARGUMENT. */
export function grid(first: number, interval: number): Timetable {
  if (!Number.isSafeInteger(first)) throw new LtsError('INVALID_ARGUMENT', `the first time of a grid is a whole number of milliseconds, not ${first}`);
  if (!Number.isSafeInteger(interval) || interval < 1) throw new LtsError('INVALID_ARGUMENT', `the interval of a grid is a whole number of milliseconds from 1, not ${interval}`);
  return { next: (from) => (from <= first ? first : first + Math.ceil((from - first) / interval) * interval) };
}
