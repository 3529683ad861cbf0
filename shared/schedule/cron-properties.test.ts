import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PlainDay, quartzCrons, type RandomCron, unixCrons } from '../../test/kit/random-cron.js';
import { cron, type CronDialect } from './cron.js';
import type { Timetable } from './timetable.js';

const first = Date.UTC(2024, 0, 1);
const last = Date.UTC(2028, 0, 1);
const day = 86_400_000;

const calendar: PlainDay[] = Array.from({ length: (last - first) / day }, (_, index) => {
  const date = new Date(first + index * day);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + 1];
  return { year, month, day: date.getUTCDate(), weekday: date.getUTCDay(), length: new Date(Date.UTC(year, month, 0)).getUTCDate() };
});

/** Looks at every day, and on a matching one at every second, until it has enough or the calendar ends. */
function slowFires({ onDay, hours, minutes, seconds }: RandomCron, from: number, count: number): number[] {
  const fires: number[] = [];
  for (let index = Math.floor((from - first) / day); index < calendar.length && fires.length < count; index += 1) {
    const date = calendar[index];
    if (date === undefined || !onDay(date)) continue;
    for (let hour = 0; hour < 24; hour += 1) {
      if (!hours.has(hour)) continue;
      for (let minute = 0; minute < 60; minute += 1) {
        if (!minutes.has(minute)) continue;
        for (let second = 0; second < 60; second += 1) {
          const fire = first + index * day + ((hour * 60 + minute) * 60 + second) * 1_000;
          if (seconds.has(second) && fire >= from && fires.length < count) fires.push(fire);
        }
      }
    }
  }
  return fires;
}

function fires(timetable: Timetable, from: number, count: number): number[] {
  const found: number[] = [];
  for (let next = timetable.next(from); next !== undefined && next < last && found.length < count; next = timetable.next(next + 1)) found.push(next);
  return found;
}

const starts = fc.integer({ min: first, max: first + 3 * 365 * day });

describe('a random expression', () => {
  it.each([
    ['UNIX', unixCrons],
    ['QUARTZ', quartzCrons],
  ] as const)('in %s fires when a slow look at every second says so: strictly later each time, none left out, none invented', (dialect: CronDialect, crons) => {
    fc.assert(
      fc.property(crons, starts, (random, from) => {
        const timetable = cron({ expression: random.text, dialect, zone: '', gap: 'DEFAULT', overlap: 'DEFAULT', spread: '' });
        expect(fires(timetable, from, 6), `of ${random.text}`).toEqual(slowFires(random, from, 6));
      }),
      { numRuns: 5_000 },
    );
  });

  it('answers the same from any instant up to its next fire', () => {
    fc.assert(
      fc.property(quartzCrons, starts, fc.double({ min: 0, max: 1, noNaN: true }), ({ text }, from, part) => {
        const timetable = cron({ expression: text, dialect: 'QUARTZ', zone: 'Europe/Berlin', gap: 'DEFAULT', overlap: 'DEFAULT', spread: '' });
        const next = timetable.next(from);
        fc.pre(next !== undefined);
        expect(next).toBeGreaterThanOrEqual(from);
        expect(timetable.next(Math.floor(from + (next - from) * part))).toBe(next);
      }),
      { numRuns: 1_000 },
    );
  });
});
