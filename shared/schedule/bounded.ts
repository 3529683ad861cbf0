import type { Timetable } from './timetable.js';

/** Only the fires from `startAt` to `endAt`, both included; undefined: no bound on that side. */
export function bounded(timetable: Timetable, startAt: number | undefined, endAt: number | undefined): Timetable {
  if (startAt === undefined && endAt === undefined) return timetable;
  return {
    next(from) {
      const fire = timetable.next(startAt === undefined ? from : Math.max(from, startAt));
      return fire === undefined || (endAt !== undefined && fire > endAt) ? undefined : fire;
    },
  };
}
