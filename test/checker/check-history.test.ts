import { describe, expect, it } from 'vitest';
import { checkHistory } from './check-history.js';
import type { Event } from './history.js';

const epoch = 2 ** 32;
const good: Event[] = [
  { kind: 'worker', pid: 1, workThreads: 1 },
  { kind: 'acked', id: 'a', atMostOnce: true, needFeedback: true },
  { kind: 'start', id: 'a', attempt: 1, fence: epoch + 1, pid: 1 },
  { kind: 'end', id: 'a', attempt: 1, pid: 1 },
  { kind: 'result', id: 'a', state: 'SUCCEEDED' },
  { kind: 'stored', id: 'a', state: 'SUCCEEDED', attempts: [{ attempt: 1, fence: epoch + 1, outcome: 'SUCCESS' }] },
  { kind: 'election', nodes: 2, trackers: 2 },
  { kind: 'recovered', afterMs: 10, limitMs: 20 },
  { kind: 'acked', id: 'x', atMostOnce: false, needFeedback: false, local: true },
  { kind: 'cancelled', id: 'x', done: true, attempts: 0 },
  { kind: 'stored', id: 'x', state: 'CANCELLED', attempts: [] },
  { kind: 'owners', partition: 0, epochs: [1, 2] },
  { kind: 'resources', process: 'a', rssMb: 99, rssLimitMb: 100, files: 20, filesLimit: 20 },
];

const without = (kind: Event['kind']): Event[] => good.filter((event) => event.kind !== kind);
const cancelledAs = (state: string, attempts: { attempt: number; fence: number; outcome: string }[] = []): Event[] => [
  ...good.filter((event) => !(event.kind === 'stored' && event.id === 'x')),
  { kind: 'stored', id: 'x', state, attempts },
];
const stored = (state: string, attempts: { attempt: number; fence: number; outcome: string }[]): Event => ({ kind: 'stored', id: 'a', state, attempts });

const broken: [number, string, Event[]][] = [
  [1, 'an acked job that the store does not know', without('stored')],
  [1, 'an acked job that never ended', [...without('stored'), stored('READY', [])]],
  [3, 'a token that does not grow', [...without('stored'), stored('SUCCEEDED', [{ attempt: 1, fence: epoch + 2, outcome: 'LOST' }, { attempt: 2, fence: epoch + 2, outcome: 'SUCCESS' }])]],
  [3, 'a run of an older epoch', [{ kind: 'start', id: 'b', attempt: 1, fence: 2 * epoch, pid: 1 }, { kind: 'end', id: 'b', attempt: 1, pid: 1 }, ...good]],
  [3, 'a run that the store does not know', [...good, { kind: 'start', id: 'a', attempt: 1, fence: epoch + 2, pid: 2 }]],
  [3, 'an older epoch in one group of a process', [{ kind: 'start', id: 'b', attempt: 1, fence: 2 * epoch, pid: 2, group: 'g' }, { kind: 'start', id: 'c', attempt: 1, fence: epoch, pid: 2, group: 'g' }, ...good]],
  [4, 'a commit of an owner that was displaced', [...good, { kind: 'owners', partition: 1, epochs: [1, 2, 1] }]],
  [5, 'a success that no task completed', good.filter((event) => event.kind !== 'end')],
  [6, 'a second start of an at-most-once job', [...good, { kind: 'start', id: 'a', attempt: 2, fence: epoch + 5, pid: 2 }]],
  [7, 'a delivery that says something else', [...good, { kind: 'result', id: 'a', state: 'FAILED' }]],
  [7, 'an attempt that ran twice', [...good, { kind: 'start', id: 'a', attempt: 1, fence: epoch + 1, pid: 2 }]],
  [10, 'an attempt after a cancel', cancelledAs('CANCELLED', [{ attempt: 1, fence: epoch + 9, outcome: 'CANCELLED' }])],
  [10, 'a cancelled job that ended otherwise', cancelledAs('SUCCEEDED')],
  [10, 'a cancelled job that goes on', cancelledAs('READY')],
  [13, 'more runs than slots', [...good, { kind: 'start', id: 'b', attempt: 1, fence: epoch + 3, pid: 1 }, { kind: 'start', id: 'c', attempt: 1, fence: epoch + 4, pid: 1 }]],
  [14, 'a result that was never delivered', without('result')],
  [16, 'too much memory', [...good, { kind: 'resources', process: 'b', rssMb: 101, rssLimitMb: 100, files: 1, filesLimit: 2 }]],
  [16, 'too many files', [...good, { kind: 'resources', process: 'b', rssMb: 1, rssLimitMb: 100, files: 3, filesLimit: 2 }]],
  [17, 'an orphan in the election', [...good, { kind: 'election', nodes: 3, trackers: 2 }]],
  [18, 'a slow recovery', [...good, { kind: 'recovered', afterMs: 21, limitMs: 20 }]],
];

describe('checkHistory', () => {
  it('finds nothing in a good history', () => {
    expect(checkHistory(good)).toEqual([]);
  });

  it('tells the groups of one process apart', () => {
    const runs: Event[] = [
      { kind: 'worker', pid: 2, group: 'g', workThreads: 1 },
      { kind: 'worker', pid: 2, group: 'h', workThreads: 1 },
      { kind: 'start', id: 'b', attempt: 1, fence: 2 * epoch, pid: 2, group: 'g' },
      { kind: 'start', id: 'c', attempt: 1, fence: epoch, pid: 2, group: 'h' },
    ];
    expect(checkHistory([...good, ...runs])).toEqual([]);
  });

  it('lets a later owner send again what has not begun', () => {
    const later: Event = { kind: 'start', id: 'b', attempt: 1, fence: 2 * epoch, pid: 1 };
    expect(checkHistory([later, { kind: 'end', id: 'b', attempt: 1, pid: 1 }, ...good]).map(({ promise }) => promise)).toEqual([3]);
    expect(checkHistory([later, { kind: 'end', id: 'b', attempt: 1, pid: 1 }, ...good, { kind: 'resent', id: 'a', attempt: 1 }])).toEqual([]);
  });

  it.each(broken)('sees that promise %i is broken by %s', (promise, _name, events) => {
    expect(checkHistory(events).map((violation) => violation.promise)).toContain(promise);
  });
});
