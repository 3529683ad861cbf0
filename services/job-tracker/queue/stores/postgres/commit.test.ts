import { expect, it } from 'vitest';
import { Clashes } from './commit.js';
import type { OutcomeRow } from './commit-outcomes.js';

const row = (what: number): OutcomeRow => ({ what, ord: 1, numbers: null, id: null, name: null, type: null, policy: null, job: null });

it('expects clashes for a while after one, and then no more', () => {
  const clashes = new Clashes();
  clashes.note([row(1), row(3), row(12)]);
  expect(clashes.areLikely).toBe(false);
  for (const what of [8, 9, 10, 11]) {
    clashes.note([row(1), row(what)]);
    expect(clashes.areLikely).toBe(true);
    for (let commit = 0; commit < 100; commit++) clashes.note([row(1)]);
    expect(clashes.areLikely).toBe(false);
  }
});
