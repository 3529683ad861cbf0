import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../../shared/log/logger.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import type { Worker } from './worker.js';
import { WorkerClocks } from './worker-clocks.js';

const hour = 3_600_000;

describe('the time at which a worker wants another try', () => {
  const clock = new VirtualClock();
  const clocks = new WorkerClocks(clock, silentLogger);
  const now = clock.now();
  /** A worker whose clock was measured to be so far ahead. */
  const worker = (offsetMs: number): Worker => ({ session: { clock: { against: () => offsetMs } } }) as unknown as Worker;

  it.each([
    ['right clocks', 0, { retry_at: now + 500, ended_at: now - 3 }, now + 500],
    ['a clock that is known to be an hour ahead', hour, { retry_at: now + hour + 500, ended_at: now + hour }, now + 500],
    ['a clock that was set an hour ahead since', 0, { retry_at: now + hour + 500, ended_at: now + hour }, now + 500],
    ['a clock that was set back from an hour ahead since', hour, { retry_at: now + 500, ended_at: now }, now + 500 - hour],
    ['a result that was kept for an hour', 0, { retry_at: now - hour + 500, ended_at: now - hour }, now - hour + 500],
    ['an end that is not told', 0, { retry_at: now + hour, ended_at: 0 }, now + hour],
    ['no wish', hour, { retry_at: 0, ended_at: now }, 0],
  ])('%s', (_, offsetMs, told, expected) => {
    expect(clocks.retryAt(worker(offsetMs), told)).toBe(expected);
  });
});
