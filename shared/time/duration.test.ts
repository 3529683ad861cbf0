import { describe, expect, it } from 'vitest';
import { roughDuration } from './duration.js';

describe('roughDuration', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_001, '2 s'],
    [60_000, '1 min'],
    [19_586_000, '5 h 26 min'],
    [86_400_000, '1 d'],
    [86_460_000, '1 d'],
    [400 * 86_400_000 + 3_600_000, '400 d 1 h'],
  ])('says %i milliseconds as %s', (ms, text) => {
    expect(roughDuration(ms)).toBe(text);
  });
});
