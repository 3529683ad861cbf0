import type { LtsError } from '../errors/lts-error.js';
import { dayMs, lastYear, monthLength, toCivilDate, toDayNumber, weekdayOf } from './calendar.js';
import type { NumberSet } from './number-set.js';

/** Makes the error of an expression: which part of it, and what to write there. */
export type Refuse = (part: string, wayOut: string) => LtsError;

/** What an expression means, whatever its dialect. */
export interface CronFields {
  seconds: NumberSet;
  minutes: NumberSet;
  hours: NumberSet;
  days: DayTable;
  /** 1 to 12. */
  months: NumberSet;
  /** undefined: every year. */
  years: ReadonlySet<number> | undefined;
  /** Whether hour or minute is `*` or has a step: it means "every so often", not "at this time of the day". */
  interval: boolean;
}

/** All that the days of a month depend on. */
export interface MonthShape {
  length: number;
  /** Of its first day; 0 is Sunday. */
  firstWeekday: number;
}

/** For each of the 28 shapes of a month the days that match; bit 0 is the first. */
export type DayTable = readonly number[];

/** The table of a rule that says which days of a month match, in any order. Days outside of the month do not count. */
export function dayTable(rule: (month: MonthShape) => Iterable<number>): DayTable {
  return Array.from({ length: 28 }, (_, index) => {
    const month = { length: 28 + Math.floor(index / 7), firstWeekday: index % 7 };
    let days = 0;
    for (const day of rule(month)) if (day >= 1 && day <= month.length) days |= 1 << (day - 1);
    return days;
  });
}

/** The first local time that matches, at or after `from`; undefined: there is none until the end of 2099. */
export function nextLocal(fields: CronFields, from: number): number | undefined {
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
      const firstDay = toDayNumber(year, candidate, 1);
      const matching = days[(monthLength(year, candidate) - 28) * 7 + weekdayOf(firstDay)] ?? 0;
      const left = candidate === month ? matching & (-1 << (day - 1)) : matching;
      if (left !== 0) return firstDay + 31 - Math.clz32(left & -left);
    }
  }
  return undefined;
}

/** In seconds of the day; -1: none is left on this day. */
function nextTimeOfDay({ hours, minutes, seconds }: CronFields, from: number): number {
  const fromHour = Math.floor(from / 3_600);
  const fromMinute = Math.floor(from / 60) % 60;
  let hour = hours.next(fromHour);
  if (hour === fromHour) {
    let minute = minutes.next(fromMinute);
    if (minute === fromMinute) {
      const second = seconds.next(from % 60);
      if (second !== -1) return (hour * 60 + minute) * 60 + second;
      minute = minutes.next(fromMinute + 1);
    }
    if (minute !== -1) return (hour * 60 + minute) * 60 + seconds.next(0);
    hour = hours.next(fromHour + 1);
  }
  return hour === -1 ? -1 : (hour * 60 + minutes.next(0)) * 60 + seconds.next(0);
}
