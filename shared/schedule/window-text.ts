import { dayMs } from './calendar.js';

const weekdayNames = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'];

/** 09:00 or 09:00:30 in milliseconds from midnight; 24:00 is the last one of the day. undefined for anything else. */
export function parseTimeOfDay(text: string): number | undefined {
  const match = /^(\d{1,2}):([0-5]\d)(?::([0-5]\d))?$/.exec(text.trim());
  if (match === null) return undefined;
  const [, hours, minutes, seconds = '0'] = match;
  const time = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
  return time > dayMs ? undefined : Math.min(time, dayMs - 1);
}

/** MON, MON-FRI, SAT-MON or 1 (Monday) to 7, any case, as ISO weekdays; undefined when one of them is none. */
export function parseWeekdays(items: readonly string[]): number[] | undefined {
  const weekdays = new Set<number>();
  for (const item of items) {
    const [first = '', last = first, ...more] = item.trim().toUpperCase().split('-');
    const [from, to] = [weekdayOf(first), weekdayOf(last)];
    if (from === undefined || to === undefined || more.length > 0) return undefined;
    for (let weekday = from; ; weekday = (weekday % 7) + 1) {
      weekdays.add(weekday);
      if (weekday === to) break;
    }
  }
  return [...weekdays].toSorted((a, b) => a - b);
}

/** Sorted ISO weekdays as parseWeekdays reads them: MON-FRI,SUN. */
export function formatWeekdays(weekdays: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const weekday of weekdays) {
    const range = ranges.at(-1);
    if (range?.[1] === weekday - 1) range[1] = weekday;
    else ranges.push([weekday, weekday]);
  }
  const name = (weekday: number): string => weekdayNames[weekday - 1] ?? String(weekday);
  return ranges.map(([first, last]) => (first === last ? name(first) : `${name(first)}${last === first + 1 ? ',' : '-'}${name(last)}`)).join(',');
}

function weekdayOf(text: string): number | undefined {
  if (/^[1-7]$/.test(text)) return Number(text);
  const index = weekdayNames.indexOf(text);
  return index === -1 ? undefined : index + 1;
}
