import type { LtsError } from '../errors/lts-error.js';
import { monthLength, toDayNumber, weekdayOf } from './calendar.js';
import type { NumberSet } from './number-set.js';

/** Makes the error of an expression: which part of it, and what to write there. */
export type Refuse = (part: string, wayOut: string) => LtsError;

/** What an expression means, whatever its dialect. */
export interface CronFields {
  seconds: NumberSet;
  minutes: NumberSet;
  hours: NumberSet;
  days: DayTable;
  /** Of Quartz, W with several times a day: then this says the days, and `days` only which ones are possible. */
  nearest: NearestWeekday | undefined;
  /** 1 to 12. */
  months: NumberSet;
  /** undefined: every year. */
  years: ReadonlySet<number> | undefined;
  /** Whether hour or minute is `*` or has a step: it means "every so often", not "at this time of the day". */
  interval: boolean;
}

/** Of a field with W: the days without W, and those that W is applied to, before it moves them. */
export interface NearestWeekday {
  plain: DayTable;
  named: DayTable;
}

/** All that the days of a month depend on. */
export interface MonthShape {
  length: number;
  /** Of its first day; 0 is Sunday. */
  firstWeekday: number;
}

/** For each of the 28 shapes of a month the days that match; bit 0 is the first. */
export type DayTable = readonly number[];

/** Where months of a shape stand in a DayTable. */
export function tableIndex({ length, firstWeekday }: MonthShape): number {
  return (length - 28) * 7 + firstWeekday;
}

/** The days of a month that match, as bits. */
export function daysOfMonth(table: DayTable, year: number, month: number): number {
  return table[tableIndex({ length: monthLength(year, month), firstWeekday: weekdayOf(toDayNumber(year, month, 1)) })] ?? 0;
}

/** The first of the days in a word, from `day` on; 0: none. */
export function dayFrom(days: number, day: number): number {
  const left = days & (-1 << (day - 1));
  return left === 0 ? 0 : 32 - Math.clz32(left & -left);
}

/** The table of a rule that gives the matching days of a month as bits; bits after its end do not count. */
export function dayTable(rule: (month: MonthShape) => number): DayTable {
  return Array.from({ length: 28 }, (_, index) => {
    const length = 28 + Math.floor(index / 7);
    return rule({ length, firstWeekday: index % 7 }) & (2 ** length - 1);
  });
}

/** These days as bits; those below 1 do not count. */
export function daysAsBits(days: Iterable<number>): number {
  let bits = 0;
  for (const day of days) if (day > 0) bits |= 1 << (day - 1);
  return bits;
}

/** The days of a month that are one of these weekdays (0 is Sunday), as bits. */
export function weekdaysAsBits(weekdays: Iterable<number>, { firstWeekday }: MonthShape): number {
  let week = 0;
  for (const weekday of weekdays) week |= 1 << ((weekday - firstWeekday + 7) % 7);
  return week | (week << 7) | (week << 14) | (week << 21) | (week << 28);
}

/** In seconds of the day; -1: none is left on this day. */
export function nextTimeOfDay({ hours, minutes, seconds }: CronFields, from: number): number {
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
