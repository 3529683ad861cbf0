import { describe, expect, it } from 'vitest';
import { simulate } from './simulate.js';

describe('a seed', () => {
  it.each([3, 4, 9])('%i plays the same to the bit, watched or not', async (seed) => {
    const lines: string[] = [];
    const first = await simulate(seed);
    const second = await simulate(seed, (line) => lines.push(line));
    expect(second).toEqual(first);
    expect(lines.length).toBeGreaterThan(1_000);
  });

  it('is not another one', async () => {
    expect((await simulate(3)).hash).not.toBe((await simulate(5)).hash);
  });
});
