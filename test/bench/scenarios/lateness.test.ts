import { expect, test } from 'vitest';
import { latenessOf } from './lateness.js';

test('every expected time is met once, or lost, and every run beyond that is told', () => {
  const runs: [job: number, scheduledAt: number, startedAt: number][] = [
    [5, 1_000, 1_004], [5, 2_000, 2_010], [6, 1_500, 1_501], [6, 1_500, 1_900], [6, 1_700, 1_701],
    // Not of the watched jobs, or not in the watched time.
    [7, 1_000, 1_000], [4, 1_000, 1_000], [5, 3_000, 3_000], [5, 0, 900],
  ];
  const column = (index: 0 | 1 | 2): Float64Array => Float64Array.from(runs.map((run) => run[index]));
  const starts = { job: column(0), scheduledAt: column(1), startedAt: column(2) };
  const timesOf = (job: number): number[] => (job === 5 ? [1_000, 2_000] : [1_500, 2_500]);
  expect(latenessOf(starts, { first: 5, count: 2, from: 1_000, to: 3_000 }, timesOf)).toEqual({ fires: 4, p50: 4, p99: 10, max: 10, lost: 1, duplicates: 1, unexpected: 1 });
});
