import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import { ClockOffset } from './clock-offset.js';

describe('ClockOffset', () => {
  let clock: VirtualClock;
  let offset: ClockOffset;
  let nonce = 0;
  beforeEach(() => {
    clock = new VirtualClock();
    offset = new ClockOffset();
  });

  /** One ping to a peer whose clock is ahead by so much, read after `thereMs` of a way that takes `tripMs`. */
  async function ping(aheadMs: number, thereMs = 1, tripMs = 2): Promise<void> {
    offset.asked(++nonce, clock.monotonic());
    await clock.advance(thereMs);
    const time = clock.now() + aheadMs;
    await clock.advance(tripMs - thereMs);
    offset.answered(nonce, time, clock.monotonic());
  }

  it('is not known before an answer that tells the time', () => {
    expect(offset.against(clock)).toBeUndefined();
    offset.asked(1, clock.monotonic());
    for (const time of [0, -1, Number.NaN, 2 ** 60]) offset.answered(1, time, clock.monotonic());
    offset.answered(2, clock.now(), clock.monotonic());
    expect(offset.against(clock)).toBeUndefined();
  });

  it('is that of the quickest ping', async () => {
    await ping(5_000, 80, 100);
    expect(offset.against(clock)).toBe(5_030);
    await ping(5_000);
    expect(offset.against(clock)).toBe(5_000);
    await ping(5_000, 5, 90);
    expect(offset.against(clock)).toBe(5_000);
  });

  it('follows a clock that was set at once, and one that drifts within a minute', async () => {
    await ping(10);
    await ping(-3_600_000, 20, 50);
    expect(Math.abs((offset.against(clock) ?? 0) + 3_600_000)).toBeLessThanOrEqual(25);
    await ping(-3_600_000);
    await clock.advance(60_001);
    await ping(-3_600_004, 3, 6);
    expect(offset.against(clock)).toBe(-3_600_004);
  });

  it('is told against the clock that is asked for, whatever steps that takes', async () => {
    await ping(0);
    clock.step(3_600_000);
    expect(offset.against(clock)).toBe(-3_600_000);
  });
});
