import { describe, expect, it } from 'vitest';
import { type AttemptOutcome, mayFollow } from '../queue/instance-state.js';
import type { RunPolicy } from '../queue/queue-store.js';
import { decide, type EndHints, type FinishedRun } from './decide.js';

const policy: RunPolicy = { maxRetryTimes: 2, timeoutMs: 0, maxLost: 3, failOnLoss: false };
const run = (more: Partial<FinishedRun> = {}): FinishedRun => ({ policy, retryTimes: 0, lostTimes: 0, cancelling: false, ...more });
const now = 1_000_000;

const cases: [string, FinishedRun, AttemptOutcome, EndHints, ReturnType<typeof decide>][] = [
  ['success ends', run(), 'SUCCESS', {}, { state: 'SUCCEEDED' }],
  ['failed ends without a retry', run(), 'FAILED', {}, { state: 'FAILED' }],
  ['an exception is retried after the default 30 s', run(), 'EXCEPTION', {}, { dueAt: now + 30_000, retryTimes: 1, lostTimes: 0 }],
  ['retries are used up', run({ retryTimes: 2 }), 'EXCEPTION', {}, { state: 'FAILED' }],
  ['later may name its time', run(), 'LATER', { retryAt: now + 5 }, { dueAt: now + 5, retryTimes: 1, lostTimes: 0 }],
  ['later in the past is now', run(), 'LATER', { retryAt: 5 }, { dueAt: now, retryTimes: 1, lostTimes: 0 }],
  ['later uses up retries too', run({ retryTimes: 2 }), 'LATER', { retryAt: now + 5 }, { state: 'FAILED' }],
  ['a time is not for exceptions to name', run(), 'EXCEPTION', { retryAt: now + 5 }, { dueAt: now + 30_000, retryTimes: 1, lostTimes: 0 }],
  ['a cancelled run that asks for a retry ends', run({ cancelling: true }), 'LATER', {}, { state: 'CANCELLED' }],
  ['a cancelled run whose result came first succeeds', run({ cancelling: true }), 'SUCCESS', {}, { state: 'SUCCEEDED' }],
  ['a cancelled run whose worker is lost ends cancelled', run({ cancelling: true }), 'LOST', {}, { state: 'CANCELLED' }],
  ['a loss is a new attempt without a retry', run({ retryTimes: 1 }), 'LOST', {}, { dueAt: now, retryTimes: 1, lostTimes: 1 }],
  ['the last allowed loss ends', run({ lostTimes: 2 }), 'LOST', {}, { state: 'LOST' }],
  ['at most once: a loss ends', run({ policy: { ...policy, failOnLoss: true } }), 'LOST', {}, { state: 'LOST' }],
  ['at most once: an interrupted run ends', run({ policy: { ...policy, failOnLoss: true } }), 'INTERRUPTED', {}, { state: 'LOST' }],
  ['at most once: what never began is owed', run({ policy: { ...policy, failOnLoss: true } }), 'INTERRUPTED', { neverBegan: true }, { dueAt: now, retryTimes: 0, lostTimes: 0 }],
  ['an interrupted run is owed and counts nothing', run({ retryTimes: 1, lostTimes: 1 }), 'INTERRUPTED', {}, { dueAt: now, retryTimes: 1, lostTimes: 1 }],
];

describe('decide', () => {
  it.each(cases)('%s', (_name, finished, outcome, hints, expected) => {
    expect(decide(finished, outcome, hints, now)).toEqual(expected);
  });

  it('only goes where the state machine allows', () => {
    const outcomes: AttemptOutcome[] = ['SUCCESS', 'FAILED', 'LATER', 'EXCEPTION', 'CANCELLED', 'LOST', 'INTERRUPTED'];
    for (const outcome of outcomes) {
      for (const cancelling of [false, true]) {
        for (const more of [{}, { maxRetryTimes: 0 }, { maxLost: 1 }, { failOnLoss: true }]) {
          const next = decide(run({ cancelling, policy: { ...policy, ...more } }), outcome, {}, now);
          const to = 'state' in next ? next.state : next.dueAt > now ? 'WAITING' : 'READY';
          expect(mayFollow(cancelling ? 'CANCELLING' : 'EXECUTING', to), `${outcome} of a ${cancelling ? 'cancelled' : 'running'} one to ${to}`).toBe(true);
        }
      }
    }
  });

  it('follows the law of the job', () => {
    const delays = (law: NonNullable<RunPolicy['retry']>): number[] =>
      [0, 1, 2, 3].map((retryTimes) => {
        const next = decide(run({ retryTimes, policy: { ...policy, maxRetryTimes: 9, retry: law } }), 'EXCEPTION', {}, now);
        return 'dueAt' in next ? next.dueAt - now : -1;
      });
    expect(delays({ law: 'FIXED', delay: 7 })).toEqual([7, 7, 7, 7]);
    expect(delays({ law: 'EXPONENTIAL', delay: 100, maxDelay: 350 })).toEqual([100, 200, 350, 350]);
    expect(delays({ law: 'LIST', delays: [1, 20] })).toEqual([1, 20, 20, 20]);
  });
});
