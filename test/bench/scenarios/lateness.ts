import type { Starts } from '../frame/start-record.js';
import { percentile } from '../frame/statistics.js';

/** How the starts of runs meet the times that were expected. Lateness in milliseconds. */
export interface Lateness {
  /** Times that were expected. */
  fires: number;
  p50: number;
  p99: number;
  max: number;
  /** Expected times without a run. */
  lost: number;
  /** Runs beyond the first of a time. */
  duplicates: number;
  /** Runs for other times. */
  unexpected: number;
}

/** Jobs with these numbers, and scheduled times from `from` (inclusive) to `to`: nothing else is looked at. */
export interface Watched {
  first: number;
  count: number;
  from: number;
  to: number;
}

/** @param timesOf the times of a job that are expected */
export function latenessOf({ job, scheduledAt, startedAt }: Starts, { first, count, from, to }: Watched, timesOf: (job: number) => number[]): Lateness {
  const pending = Array.from({ length: count }, (_, index) => new Map(timesOf(first + index).map((time) => [time, 0])));
  const fires = pending.reduce((sum, times) => sum + times.size, 0);
  const late: number[] = [];
  let [duplicates, unexpected] = [0, 0];
  for (const [i, number] of job.entries()) {
    const [time, began] = [scheduledAt[i] ?? Number.NaN, startedAt[i] ?? Number.NaN];
    const times = pending[number - first];
    if (times === undefined || time < from || time >= to) continue;
    const runs = times.get(time);
    if (runs === undefined) unexpected += 1;
    else if (runs > 0) duplicates += 1;
    else late.push(began - time);
    times.set(time, (runs ?? 0) + 1);
  }
  const sorted = Float64Array.from(late).sort();
  return { fires, p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), max: sorted.at(-1) ?? Number.NaN, lost: fires - late.length, duplicates, unexpected };
}
