import { describe, expect, it } from 'vitest';
import { dailyWindow, type DailyWindowSpec } from './daily-window.js';

const hour = 3_600_000;
const dayMs = 24 * hour;
const minuteMs = 60_000;
const office: DailyWindowSpec = { from: 9 * hour, to: 17 * hour, every: 4 * hour, weekdays: [1, 2, 3, 4, 5], zone: '' };

function fires(spec: DailyWindowSpec, from: string, until: string): string[] {
  const timetable = dailyWindow(spec);
  const found: string[] = [];
  for (let next = timetable.next(Date.parse(from)); next !== undefined && next < Date.parse(until); next = timetable.next(next + 1)) found.push(new Date(next).toISOString().slice(5, 16));
  return found;
}

/** Looks at every minute of a zone: the window's minutes by the day it began, and of them every n-th minute of real time. */
function slowFires({ from, to, every, weekdays, zone }: DailyWindowSpec, start: number, end: number): number[] {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' });
  const firsts = new Map<number, number>();
  const found: number[] = [];
  for (let at = start - 3 * dayMs; at < end; at += minuteMs) {
    const [month = 0, day = 0, year = 0, hours = 0, minutes = 0] = format.format(at).match(/\d+/g)?.map(Number) ?? [];
    const ofDay = (hours * 60 + minutes) * minuteMs;
    const inside = from <= to ? ofDay >= from && ofDay <= to : ofDay >= from || ofDay <= to;
    if (!inside) continue;
    const begun = Date.UTC(year, month - 1, day) - (from > to && ofDay <= to ? dayMs : 0);
    if (weekdays.length > 0 && !weekdays.includes(new Date(begun).getUTCDay() || 7)) continue;
    if (!firsts.has(begun)) firsts.set(begun, at);
    if ((at - (firsts.get(begun) ?? 0)) % every === 0 && at >= start) found.push(at);
  }
  return found;
}

describe('a daily window', () => {
  it('fires from its begin in steps, its end included, on its weekdays', () => {
    expect(fires(office, '2026-01-01T00:00:00Z', '2026-01-06T00:00:00Z')).toEqual(['01-01T09:00', '01-01T13:00', '01-01T17:00', '01-02T09:00', '01-02T13:00', '01-02T17:00', '01-05T09:00', '01-05T13:00', '01-05T17:00']);
  });

  it('goes past midnight, as the window of the day on which it begins', () => {
    const night: DailyWindowSpec = { from: 22 * hour, to: 2 * hour, every: 2 * hour, weekdays: [5], zone: '' };
    expect(fires(night, '2026-01-01T00:00:00Z', '2026-01-10T00:00:00Z')).toEqual(['01-02T22:00', '01-03T00:00', '01-03T02:00', '01-09T22:00']);
    expect(fires(night, '2026-01-03T00:00:01Z', '2026-01-04T00:00:00Z')).toEqual(['01-03T02:00']);
  });

  it('fires once where the interval is longer than the window', () => {
    expect(fires({ ...office, every: 3 * dayMs, weekdays: [] }, '2026-01-01T00:00:00Z', '2026-01-04T00:00:00Z')).toEqual(['01-01T09:00', '01-02T09:00', '01-03T09:00']);
  });

  it('has the whole day', () => {
    expect(fires({ from: 0, to: dayMs - 1, every: 8 * hour, weekdays: [], zone: 'Europe/Berlin' }, '2026-03-28T23:00:00Z', '2026-03-30T00:00:00Z')).toEqual(['03-28T23:00', '03-29T07:00', '03-29T15:00', '03-29T22:00']);
  });

  it.each([
    ['Europe/Berlin', '2026-03-27', 1, 4],
    ['Europe/Berlin', '2026-10-23', 1, 4],
    ['America/Sao_Paulo', '2018-11-02', 22, 3],
    ['America/Sao_Paulo', '2018-02-16', 22, 3],
    ['America/Sao_Paulo', '2018-02-16', 0, 23],
    ['America/St_Johns', '2008-11-01', 23, 1],
    // At 00:01 clocks go back to 23:01: the day before comes again after a minute of the new one.
    ['America/St_Johns', '2008-11-01', 0, 23],
    ['Australia/Lord_Howe', '2026-10-02', 2, 3],
    ['Australia/Lord_Howe', '2026-04-03', 1, 3],
    ['Pacific/Apia', '2011-12-28', 9, 17],
    ['Pacific/Apia', '2011-12-28', 22, 5],
    ['Africa/Cairo', '2024-04-24', 0, 3],
    ['Asia/Kathmandu', '2026-01-01', 9, 17],
  ])('in %s from %s, %i to %i o\'clock, is what a slow look at every minute finds', (zone, date, from, to) => {
    const [start, end] = [Date.parse(date), Date.parse(date) + 4 * dayMs];
    for (const every of [7, 30, 60, 100]) {
      const spec: DailyWindowSpec = { from: from * hour, to: to * hour + 15 * minuteMs, every: every * minuteMs, weekdays: [], zone };
      const timetable = dailyWindow(spec);
      const found: number[] = [];
      for (let next = timetable.next(start); next !== undefined && next < end; next = timetable.next(next + 1)) found.push(next);
      expect(found, `every ${every} minutes`).toEqual(slowFires(spec, start, end));
    }
  });

  it('fires from 1970 to 2099', () => {
    expect(dailyWindow(office).next(-dayMs * 1_000)).toBe(9 * hour);
    expect(dailyWindow(office).next(Date.UTC(2099, 11, 31, 17, 0, 1))).toBeUndefined();
  });

  it.each<[Partial<DailyWindowSpec>, string]>([
    [{ from: -1 }, 'from of a daily window is 0 to 86399999'],
    [{ to: dayMs }, 'to of a daily window is 0 to 86399999'],
    [{ every: 999 }, 'every of a daily window is 1000 milliseconds or more, not 999'],
    [{ weekdays: [0] }, 'a weekday of a daily window is 1 (Monday) to 7 (Sunday), not 0'],
    [{ zone: 'Mars/Base' }, 'time zone "Mars/Base" is not known'],
  ])('refuses %j', (part, message) => {
    expect(() => dailyWindow({ ...office, ...part })).toThrow(expect.objectContaining({ reason: 'INVALID_ARGUMENT', message: expect.stringContaining(message) }));
  });
});
