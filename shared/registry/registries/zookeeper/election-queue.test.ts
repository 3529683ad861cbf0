import { expect, it } from 'vitest';
import { queueOf } from './election-queue.js';

const uuid = (digit: string): string => `${digit.repeat(8)}-0000-4000-8000-000000000000`;

it('orders places by their number alone and leaves out other names', () => {
  const names = [`n-${uuid('f')}-0000000002`, 'lock-0000000000', `n-${uuid('0')}-0000000010`, `n-${uuid('a')}-0000000001x`, `n-${uuid('1')}-0000000003`];
  expect(queueOf(names).map((node) => [node.uuid, node.sequence])).toEqual([
    [uuid('f'), 2],
    [uuid('1'), 3],
    [uuid('0'), 10],
  ]);
});
