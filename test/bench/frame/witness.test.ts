import { expect, test } from 'vitest';
import { Witness } from './witness.js';

test('counts different jobs and repeated runs apart', () => {
  const witness = new Witness();
  for (const jobNumber of [0, 5, 5, 70_000, 5]) witness.ran(jobNumber);
  expect(witness.distinct).toBe(3);
  expect(witness.runs).toBe(5);
  const { runs, startedAt } = witness.record();
  expect([runs[0], runs[1], runs[5], runs[70_000]]).toEqual([1, 0, 3, 1]);
  expect(startedAt[5]).toBeGreaterThan(0);
  expect(startedAt[1]).toBe(0);
});

test('wakes the waiter at the wanted count, not before', async () => {
  const witness = new Witness();
  let woken = false;
  const reached = witness.reached(2).then(() => (woken = true));
  witness.ran(1);
  witness.ran(1);
  await Promise.resolve();
  expect(woken).toBe(false);
  witness.ran(2);
  await reached;
  expect(woken).toBe(true);
});

test('refuses a number that no producer made', () => {
  const witness = new Witness();
  expect(() => witness.ran(Number.NaN)).toThrow(/NaN/);
});
