import { describe, expect, it } from 'vitest';
import type { AbortReason } from '../stream/messages.js';
import { DoNotRetry, Outcome, RetryLater } from './outcome.js';
import { Run } from './run.js';
import { RunAborted } from './runner.js';
import { settleReturned, settleThrown } from './settle.js';

function run(aborted?: AbortReason): Run {
  const made = new Run({ handle: 1, instanceId: 'i', attempt: 1, scheduledTime: 0, fencingToken: 1, retryTimes: 0 }, Buffer.alloc(0));
  if (aborted !== undefined) made.abort(aborted);
  return made;
}

function returned(value: unknown, aborted?: AbortReason): string {
  const settled = run(aborted);
  settleReturned(settled, value);
  return `${settled.outcome.slice('ATTEMPT_OUTCOME_'.length)} ${settled.message}`.trim();
}

function thrown(error: unknown, aborted?: AbortReason): string {
  const settled = run(aborted);
  settleThrown(settled, error);
  return `${settled.outcome.slice('ATTEMPT_OUTCOME_'.length)} ${settled.message.split('\n')[0]}`.trim();
}

describe('what a runner returns', () => {
  it.each([
    [undefined, 'SUCCESS'],
    ['text', 'SUCCESS text'],
    [42, 'SUCCESS 42'],
    [null, 'SUCCESS null'],
    [{ a: [1] }, 'SUCCESS {"a":[1]}'],
    [Outcome.success('fine'), 'SUCCESS fine'],
    [Outcome.failed('no'), 'FAILED no'],
    [Outcome.later(), 'LATER asked to run again later'],
  ])('%j is %s', (value, expected) => {
    expect(returned(value)).toBe(expected);
  });

  it('is CANCELLED after a cancel, and stands after any other abort', () => {
    expect(returned('partly', 'cancelled')).toBe('CANCELLED partly');
    expect(returned('all', 'shutdown')).toBe('SUCCESS all');
    expect(returned('all', 'lost')).toBe('SUCCESS all');
  });

  it('is cut at 64 KiB', () => {
    const settled = run();
    settleReturned(settled, 'x'.repeat(70_000));
    expect(settled.truncated).toBe(true);
    expect(Buffer.byteLength(settled.message)).toBeLessThanOrEqual(65_536);
  });
});

describe('what a runner throws', () => {
  it.each([
    [new Error('e'), undefined, 'EXCEPTION Error: e'],
    ['text', undefined, 'EXCEPTION text'],
    [{ code: 1 }, undefined, 'EXCEPTION thrown: {"code":1}'],
    [undefined, undefined, 'EXCEPTION thrown:'],
    [new DoNotRetry('never'), undefined, 'FAILED never'],
    [new RetryLater(), undefined, 'LATER asked to run again later'],
    [new Error('e'), 'cancelled', 'CANCELLED Error: e'],
    [new Error('e'), 'shutdown', 'INTERRUPTED Error: e'],
    [new Error('e'), 'lost', 'INTERRUPTED Error: e'],
    [new DoNotRetry('never'), 'shutdown', 'FAILED never'],
  ] as const)('%s after %s is %s', (error, aborted, expected) => {
    expect(thrown(error, aborted)).toBe(expected);
  });
});

describe('the message of what a runner throws', () => {
  const stackOf = (error: Error, ...frames: string[]): Error => {
    error.stack = [`${error.name}: ${error.message}`, ...frames.map((frame) => `    at ${frame}`)].join('\n');
    return error;
  };
  const message = (error: unknown): string => {
    const settled = run();
    settleThrown(settled, error);
    return settled.message;
  };
  const own = ['runJob (file:///x/dist/services/task-tracker/run/run-job.js:20:5)', 'RunnerPool.start (file:///x/dist/services/task-tracker/run/runner-pool.js:9:1)'];
  const node = 'process.processTicksAndRejections (node:internal/process/task_queues:95:5)';

  it('ends with the frames of the runner', () => {
    expect(message(stackOf(new Error('boom'), 'greet (file:///app/runners.mjs:3:9)', node, 'later (file:///app/runners.mjs:9:9)', node, ...own, node))).toBe(
      `Error: boom\n    at greet (file:///app/runners.mjs:3:9)\n    at ${node}\n    at later (file:///app/runners.mjs:9:9)`,
    );
    expect(message(stackOf(new Error('at\nits place'), ...own))).toBe('Error: at\nits place');
  });

  it('has no frames for what is said on purpose, but those of its cause', () => {
    expect(message(new RunAborted('cancelled'))).toBe(new RunAborted('cancelled').message);
    expect(message(new DoNotRetry('never', { cause: stackOf(new TypeError('no name'), 'greet (file:///app/runners.mjs:3:9)', ...own) }))).toBe(
      'never\ncaused by: TypeError: no name\n    at greet (file:///app/runners.mjs:3:9)',
    );
  });
});

describe('the time of a retry', () => {
  it.each([
    [new Date(5_000), 5_000],
    [undefined, 0],
  ])('%s', (when, expected) => {
    expect(new RetryLater(when).at).toBe(expected);
  });

  it('counts from now for milliseconds and durations, and refuses what is no time', () => {
    const [from, short] = [new RetryLater(0).at, new RetryLater('1m').at];
    expect(short - from).toBeGreaterThanOrEqual(60_000);
    expect(short - from).toBeLessThan(61_000);
    expect(() => new RetryLater('soon')).toThrow('soon is no time for a retry');
    expect(() => new RetryLater(Number.NaN)).toThrow(RangeError);
  });
});
