import { describe, expect, it } from 'vitest';
import type { Clock } from './clock.js';
import { ClockEstimate } from './clock-estimate.js';

describe('ClockEstimate', () => {
  /** A host whose wall clock is so far ahead of its monotonic one. */
  const host = (aheadMs: number): Clock => ({ now: () => 1_000 + aheadMs, monotonic: () => 1_000 }) as Clock;

  it('knows nothing before it has heard', () => {
    expect(new ClockEstimate().against(host(0))).toBeUndefined();
  });

  it('keeps the quickest answer of the last minute, and follows a clock that was set', () => {
    const estimate = new ClockEstimate();
    estimate.heard(50_005, 0, 10);
    expect(estimate.against(host(0))).toBe(50_000);
    estimate.heard(50_650, 500, 700);
    expect(estimate.against(host(0))).toBe(50_000);
    estimate.heard(90_900, 800, 1_000);
    expect(estimate.against(host(0))).toBe(90_000);
    estimate.heard(160_000, 69_000, 69_400);
    expect(estimate.against(host(0))).toBe(90_800);
  });

  it('is right at once when this host sets its own clock', () => {
    const estimate = new ClockEstimate();
    estimate.heard(50_005, 0, 10);
    expect([estimate.against(host(0)), estimate.against(host(3_600_000))]).toEqual([50_000, 50_000 - 3_600_000]);
  });
});
