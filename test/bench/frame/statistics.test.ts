import { expect, test } from 'vitest';
import { median, percentile, percentilesOf } from './statistics.js';

test('the median of an even count is the mean of both middle values', () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([])).toBeNaN();
});

test('a percentile is a value that was measured', () => {
  const values = Array.from({ length: 100 }, (_, index) => index + 1);
  expect(percentile(values, 0.5)).toBe(50);
  expect(percentile(values, 0.99)).toBe(99);
  expect(percentile([7], 0.99)).toBe(7);
});

test('percentiles do not depend on the order of the durations', () => {
  expect(percentilesOf(Float64Array.of(30, 10, 20))).toEqual({ p50: 20, p99: 30 });
});
