import { expect, it } from 'vitest';
import { numbersBytes } from './array-bytes.js';

it('writes numbers as the server reads them', () => {
  const numbers = [0, 1, -1, 2 ** 31, 2 ** 32, -(2 ** 32), 1_800_000_000_123, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
  const bytes = numbersBytes(numbers) as Buffer;
  expect(bytes.subarray(0, 20).toString('hex')).toBe('0000000100000000000000140000000900000001');
  expect(numbers.map((_, i) => bytes.readInt32BE(20 + i * 12))).toEqual(numbers.map(() => 8));
  expect(numbers.map((_, i) => Number(bytes.readBigInt64BE(24 + i * 12)))).toEqual(numbers);
  expect((numbersBytes([]) as Buffer).readInt32BE(12)).toBe(0);
});

it('writes what is no whole number as text, which the server refuses', () => {
  expect(numbersBytes([1, 1.5])).toBe('{1,1.5}');
  expect(numbersBytes([Number.NaN])).toBe('{NaN}');
});
