import { describe, expect, it } from 'vitest';
import { formatRanges } from './ranges.js';

describe('formatRanges', () => {
  it.each([
    [[], ''],
    [[5], '5'],
    [[3, 1, 2, 0], '0-3'],
    [[0, 1, 4, 6, 7, 8], '0-1,4,6-8'],
    [[2, 2, 3], '2-3'],
  ])('shows %j as "%s"', (numbers, text) => {
    expect(formatRanges(numbers)).toBe(text);
  });
});
