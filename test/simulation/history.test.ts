import { expect, it } from 'vitest';
import { History } from './history.js';
import { MemoryDatabase } from './store/memory-database.js';

const fencesPerEpoch = 2 ** 32;
const older = { id: 'a', attempt: 1, fence: 7 * fencesPerEpoch + 1 };
const newer = { id: 'b', attempt: 3, fence: 9 * fencesPerEpoch + 1 };

/** What is broken when a worker runs the attempt of the newer epoch first; the older one was sent by the owner of this epoch. */
function runNewerFirst(epochOfOlder: number): number[] {
  const history = new History(1_000, () => true);
  history.taskSent(newer, 11, 0);
  history.taskSent(older, epochOfOlder, 0);
  for (const { id, attempt, fence } of [newer, older]) {
    history.began(id, attempt, fence, 1);
    history.ended(id, attempt, 'SUCCESS', 1);
  }
  history.check(new MemoryDatabase('sim', 1, '').tables, false);
  return history.violations.map(({ promise }) => promise);
}

it('lets a worker begin attempts of several former owners in any order once a later owner has sent them again', () => {
  expect(runNewerFirst(11)).toEqual([]);
});

it('sees that a worker begins what the former owner itself has sent, after one of a later epoch', () => {
  expect(runNewerFirst(7)).toEqual([3]);
});
