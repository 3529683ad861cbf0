import { dayMs, lastYear, toCivilDate, toDayNumber } from './calendar.js';
import { type CronFields, dayFrom, daysOfMonth, nextTimeOfDay } from './cron-fields.js';
import { nextNearest } from './nearest-weekday.js';

/** The first local time that matches, at or after `from`; undefined: there is none until the end of 2099. */
export function nextLocal(fields: CronFields, from: number): number | undefined {
  if (fields.nearest !== undefined) return nextNearest(fields, fields.nearest, from);
  const dayNumber = Math.floor(from / dayMs);
  const day = nextDay(fields, dayNumber);
  if (day === undefined) return undefined;
  if (day === dayNumber) {
    const time = nextTimeOfDay(fields, Math.ceil((from - dayNumber * dayMs) / 1_000));
    if (time !== -1) return day * dayMs + time * 1_000;
    const later = nextDay(fields, dayNumber + 1);
    return later === undefined ? undefined : later * dayMs + nextTimeOfDay(fields, 0) * 1_000;
  }
  return day * dayMs + nextTimeOfDay(fields, 0) * 1_000;
}

function nextDay({ days, months, years }: CronFields, from: number): number | undefined {
  const first = toCivilDate(from);
  for (let { year, month, day } = first; year <= lastYear; year += 1, month = 1, day = 1) {
    if (years !== undefined && !years.has(year)) continue;
    for (let candidate = months.next(month); candidate !== -1; candidate = months.next(candidate + 1)) {
      const found = dayFrom(daysOfMonth(days, year, candidate), candidate === month ? day : 1);
      if (found !== 0) return toDayNumber(year, candidate, found);
    }
  }
  return undefined;
}
