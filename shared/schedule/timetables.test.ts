import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bounded } from './bounded.js';
import { grid } from './grid.js';
import { NumberSet } from './number-set.js';

describe('a grid', () => {
  it('has the first time and every interval after it', () => {
    const times = grid(1_000, 300);
    expect([-5_000, 0, 1_000, 1_001, 1_300, 1_301, 9_999].map((from) => times.next(from))).toEqual([1_000, 1_000, 1_000, 1_300, 1_300, 1_600, 10_000]);
  });

  it('takes whole milliseconds only', () => {
    for (const [first, interval] of [[0, 0], [0, -1], [0, 1.5], [0.5, 1], [Number.NaN, 1]] as const) expect(() => grid(first, interval)).toThrow(expect.objectContaining({ reason: 'INVALID_ARGUMENT' }));
  });
});

describe('a bounded timetable', () => {
  it('has the fires from start to end, both included', () => {
    const times = bounded(grid(0, 10), 20, 40);
    expect([0, 20, 21, 40, 41].map((from) => times.next(from))).toEqual([20, 20, 30, 40, undefined]);
    expect(bounded(grid(0, 10), 21, undefined).next(0)).toBe(30);
    expect(bounded(grid(0, 10), undefined, 39).next(31)).toBeUndefined();
  });
});

describe('a set of numbers', () => {
  it('finds the next member as a look at each number does', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 63 })), fc.integer({ min: 0, max: 64 }), (numbers, from) => {
        const expected = Array.from({ length: 64 }, (_, index) => index).find((number) => number >= from && numbers.includes(number));
        expect(NumberSet.of(numbers).next(from)).toBe(expected ?? -1);
        expect(NumberSet.of(numbers).has(from)).toBe(numbers.includes(from));
      }),
    );
  });
});
