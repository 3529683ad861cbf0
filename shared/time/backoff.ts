/**
 * Delay before try number `tries` + 1: doubles from `firstMs` up to `mostMs`, with the upper half spread at random so
 * that many callers do not come back at the same instant ("equal jitter").
 */
export function backoffMs(tries: number, firstMs: number, mostMs: number, random: () => number = Math.random): number {
  const whole = Math.min(firstMs * 2 ** Math.min(tries, 30), mostMs);
  return whole / 2 + (random() * whole) / 2;
}
