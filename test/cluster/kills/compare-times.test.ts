import { expect, test } from 'vitest';
import { compareTimes } from './compare-times.js';

const row = (scheduledAt: number, state = 'SUCCEEDED', task = 't') => ({ task, scheduledAt, state });
const ran = (...times: number[]) => times.map((scheduledAt) => ({ task: 't', scheduledAt }));
const expected = { tasks: ['t'], firstAt: 1_000, lastAt: 3_000, deletedFrom: 3_000 };
const good = [row(1_000), row(2_000, 'DISCARDED'), row(3_000)];

test('what is as asked for is not wrong', () => {
  expect(compareTimes(expected, good, ran(1_000, 3_000))).toEqual([]);
  expect(compareTimes(expected, [...good, row(4_000, 'CANCELLED')], ran(1_000, 3_000))).toEqual([]);
});

test.each([
  ['a time without a row', [row(1_000), row(3_000)], ran(1_000, 3_000), /02.*is in no row/],
  ['a time in two rows', [...good, row(2_000, 'MISSED')], ran(1_000, 3_000), /02.*is in 2 rows/],
  ['a time between', [...good, row(2_500, 'MISSED')], ran(1_000, 3_000), /02\.500.*was not asked for/],
  ['a task that nobody knows', [...good, row(2_000, 'MISSED', 'x')], ran(1_000, 3_000), /x at .*was not asked for/],
  ['a run that did not run', good, ran(1_000), /03.*SUCCEEDED and ran 0 times/],
  ['a run that ran twice', good, ran(1_000, 1_000, 3_000), /01.*SUCCEEDED and ran 2 times/],
  ['a passed time that ran', good, ran(1_000, 2_000, 3_000), /02.*DISCARDED and ran 1 times/],
  ['a run without a row', good, ran(1_000, 3_000, 5_000), /05.*in no row/],
  ['a run that failed', [...good, row(4_000, 'LOST')], ran(1_000, 3_000, 4_000), /04.*is LOST/],
  ['a run that was cancelled although its schedule lived', [row(1_000), row(2_000, 'CANCELLED'), row(3_000)], ran(1_000, 3_000), /02.*is CANCELLED/],
])('%s is told', (_, rows, seen, message) => {
  expect(compareTimes(expected, rows, seen).join('\n')).toMatch(message);
});
