import { describe, expect, it } from 'vitest';
import { grid } from '../../../shared/schedule/grid.js';
import type { Timetable } from '../../../shared/schedule/timetable.js';
import { mostCounted, mostMissed, owedTimes } from './owed-times.js';

const second = grid(0, 1_000);
const threshold = 60_000;

/** Counts how often it is asked. */
function counted(timetable: Timetable): Timetable & { asked: number } {
  const table = {
    asked: 0,
    next(from: number) {
      table.asked++;
      return timetable.next(from);
    },
  };
  return table;
}

describe('owedTimes', () => {
  it('gives what has come, and the time after it', () => {
    expect(owedTimes(second, 5_000, 5_000, threshold, 100)).toEqual({ older: undefined, missed: [], onTime: [5_000], next: 6_000 });
    expect(owedTimes(second, 5_000, 7_500, threshold, 100)).toEqual({ older: undefined, missed: [], onTime: [5_000, 6_000, 7_000], next: 8_000 });
  });

  it('calls all of them missed, or none, by the oldest alone', () => {
    const { missed, onTime, next } = owedTimes(grid(0, 30_000), 30_000, 90_000, threshold, 100);
    expect({ missed, onTime, next }).toEqual({ missed: [], onTime: [30_000, 60_000, 90_000], next: 120_000 });
    expect(owedTimes(grid(0, 30_000), 30_000, 90_001, threshold, 2)).toEqual({ older: undefined, missed: [30_000, 60_000, 90_000], onTime: [], next: 120_000 });
  });

  it('owes the stored time also when the timetable does not know it any more', () => {
    expect(owedTimes(second, 5_500, 6_000, threshold, 100).onTime).toEqual([5_500, 6_000]);
  });

  it('leaves what one fire cannot answer to the next one', () => {
    const { onTime, next } = owedTimes(second, 0, 50_000, threshold, 10);
    expect(onTime).toHaveLength(10);
    expect(next).toBe(10_000);
  });

  it('ends with the timetable', () => {
    const last: Timetable = { next: (from) => (from <= 3_000 ? second.next(from) : undefined) };
    expect(owedTimes(last, 2_000, 10_000, threshold, 100)).toMatchObject({ onTime: [2_000, 3_000], next: undefined });
  });

  it('sums up to the time before the ones told one by one, however many the search from now backwards finds', () => {
    for (let period = 16_370; period <= 16_390; period++) {
      const { older, missed } = owedTimes(grid(0, period), 0, 5_000 * period, threshold, 100);
      expect({ period, to: older?.to, count: older?.count, missed: missed.length }).toEqual({ period, to: (missed[0] ?? 0) - period, count: 4_001, missed: mostMissed });
    }
  });

  it('sums up what is older than the newest thousand', () => {
    const now = 1_500_000;
    const { older, missed, onTime, next } = owedTimes(second, 0, now, threshold, 100);
    expect(missed).toHaveLength(mostMissed);
    expect(missed.at(-1)).toBe(now);
    expect(older).toEqual({ count: 501, from: 0, to: 500_000 });
    expect(onTime).toEqual([]);
    expect(next).toBe(now + 1_000);
  });

  it.each([
    ['of every second', second],
    // Dense in one hour of the day only.
    ['that come close together', { next: (from: number) => (from % 86_400_000 < 3_600_000 ? second.next(from) : Math.ceil(from / 86_400_000) * 86_400_000) }],
  ])('finds the newest of a week of times %s in few steps', (_name, timetable) => {
    const week = 7 * 86_400_000;
    const table = counted(timetable);
    const { older, missed } = owedTimes(table, 0, week, threshold, 100);
    expect(table.asked).toBeLessThan(150_000);
    expect(missed).toHaveLength(mostMissed);
    const all: number[] = [];
    for (let at = timetable.next(week - 86_400_000); at !== undefined && at <= week; at = timetable.next(at + 1)) all.push(at);
    expect(missed).toEqual(all.slice(-mostMissed));
    expect(older?.count).toBe(mostCounted);
  });
});
