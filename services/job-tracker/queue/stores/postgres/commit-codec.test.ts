import { expect, it } from 'vitest';
import type { Admit, Enroll, Fire, Finish, Start, Transition } from '../../queue-store.js';
import { BatchPacker } from './commit-codec.js';

const policy = { maxRetryTimes: 0, timeoutMs: 0, maxLost: 3, failOnLoss: false };
const of = { partition: 0, nodeGroup: 'group' };
const submitted = { ...of, clientId: true, type: '', priority: 100, createdAt: 0, needFeedback: false, submitNodeGroup: '', replaceOnExist: false, policy, job: Buffer.alloc(0) };
const admit = (id: string): Admit => ({ ...submitted, kind: 'admit', id, taskId: id, dueAt: 0 });
const enroll = (id: string, taskId: string): Enroll => ({ ...submitted, kind: 'enroll', id, taskId, plan: '', nextAt: 1 });
const worker = { nodeId: 'worker', incarnation: '1' };
const start = (seq: number): Start => ({ ...of, kind: 'start', seq, attempt: 1, fence: 1, worker, at: 1, wantJob: false });
const finish = (seq: number): Finish => ({ ...of, kind: 'finish', seq, attempt: 1, end: { outcome: 'SUCCESS', message: '', truncated: false, startedAt: 1 }, next: { state: 'SUCCEEDED' }, at: 2 });
const fire = (sched: number, id: string): Fire => ({
  ...of, kind: 'fire', sched, version: 1, from: 1, nextAt: 2, over: false, at: 1, passed: [],
  runs: [{ id, taskKey: `#task#${sched}`, scheduledAt: 1, held: false, counts: true }],
});

/** How many admits, hand-outs and ends each round has; three zeros: one that runs on its own. */
const rounds = (...transitions: Transition[]): unknown => BatchPacker.values({ epochs: [], transitions }, false)[8];

it('takes fires together, and what was known before them first', () => {
  expect(rounds(fire(1, 'a'), start(1), fire(2, 'b'), finish(2))).toBe('{0,1,1,0,0,0}');
  expect(rounds(admit('a'), fire(1, 'b'))).toBe('{1,0,0,0,0,0}');
});

it('keeps the order of what depends on it', () => {
  // Arrivals are numbered in it.
  expect(rounds(fire(1, 'a'), admit('b'))).toBe('{0,0,0,1,0,0}');
  expect(rounds(fire(1, 'a'), fire(1, 'b'))).toBe('{0,0,0,0,0,0}');
  expect(rounds(fire(1, 'a'), fire(2, 'a'))).toBe('{0,0,0,0,0,0}');
  expect(rounds(enroll('a', 't'), enroll('b', 'u'))).toBe('{0,0,0}');
  expect(rounds(enroll('a', 't'), enroll('b', 't'))).toBe('{0,0,0,0,0,0}');
  expect(rounds(enroll('a', 't'), enroll('a', 'u'))).toBe('{0,0,0,0,0,0}');
  // An end may free the task.
  expect(rounds(enroll('a', 't'), finish(1))).toBe('{0,0,0,0,0,1}');
  expect(rounds(enroll('a', 't'), fire(1, 'b'), admit('c'))).toBe('{0,0,0,0,0,0,1,0,0}');
});
