import { expect, it } from 'vitest';
import { tzdataDiffers, tzdataVersion } from './tzdata.js';

it('tells the rules of this process', () => {
  expect(tzdataVersion).toMatch(/^20\d\d[a-z]$/);
});

it('names who has which rules only when they differ', () => {
  expect(tzdataDiffers([['a', '2025b'], ['b', '2025b'], ['old', '']])).toBeUndefined();
  expect(tzdataDiffers([['b', '2025b'], ['c', '2024a'], ['a', '2025b']])).toContain('tzdata 2024a on c; 2025b on a, b. ');
});
