import { expect, it } from 'vitest';
import { simulate } from './simulate.js';

/** So many seeds are played with every run of the tests; `npm run simulate` plays more. */
export const perFile = 75;

/** A test of these seeds. They are spread over files, since files run side by side. */
export function greenSeeds(part: number): void {
  const from = part * perFile + 1;
  it(`keeps every promise with the seeds ${from} to ${from + perFile - 1}`, async () => {
    for (let seed = from; seed < from + perFile; seed++) {
      const { violations } = await simulate(seed);
      expect(violations, `npm run simulate -- --seed ${seed} --verbose`).toEqual([]);
    }
  });
}
