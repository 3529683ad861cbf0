import type { Percentiles } from '../contender.js';

/** The value below which `share` (0 to 1) of the sorted values lie; NaN when there are none. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  const index = Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1));
  return sorted[index] ?? Number.NaN;
}

/** The middle value, the mean of both middle values of an even count; NaN when there are none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}

export function percentilesOf(durations: Float64Array): Percentiles {
  const sorted = durations.toSorted();
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
}
