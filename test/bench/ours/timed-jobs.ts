import type { NewJob } from '../../../services/job-client/submit/new-job.js';
import { nodeGroupOf } from './settings.js';

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Jobs of one kind. */
export interface TimedJobs {
  /**
   * minutely: fires once a minute; half of them by cron, half by repeat, half of each may overlap
   * far: fires first in some days, half of them by cron
   * burst: fires at `at`, and not again while anybody looks
   * waiting: no schedule; runs once in some days
   */
  kind: 'minutely' | 'far' | 'burst' | 'waiting';
  /** Number of the first one; it is its task_id, too. */
  first: number;
  count: number;
  /** minutely: from then on the repeats fire. burst: when. Otherwise: now. Milliseconds since 1970 UTC, a whole second. */
  at: number;
}

/** What all of them share. */
export interface TimedSettings {
  groups: number;
  /** Bytes per job. */
  payload: string;
}

/** @param index among those of its kind */
export function timedJob({ kind, first, count, at }: TimedJobs, index: number, { groups, payload }: TimedSettings): NewJob {
  const number = first + index;
  const job = { task_id: String(number), node_group: nodeGroupOf(number, groups), payload };
  const inDays = at + 2 * dayMs + Math.floor((index / count) * 300 * dayMs);
  switch (kind) {
    case 'minutely': {
      const offset = offsetInMinute(index, count);
      const overlap = index % 4 < 2 ? {} : { rely_on_prev_cycle: false };
      if (index % 2 === 0) return { ...job, ...overlap, cron_dialect: 'QUARTZ', cron_expression: `${offset / 1_000} * * * * ?` };
      return { ...job, ...overlap, repeat_interval: minuteMs, repeat_count: -1, trigger_time: at + offset };
    }
    case 'far': {
      if (index % 2 === 1) return { ...job, repeat_interval: 30 * dayMs, repeat_count: -1, trigger_time: inDays };
      const date = new Date(inDays);
      return { ...job, cron_dialect: 'QUARTZ', cron_expression: `${date.getUTCSeconds()} ${date.getUTCMinutes()} ${date.getUTCHours()} ${date.getUTCDate()} ${date.getUTCMonth() + 1} ?` };
    }
    case 'burst':
      return { ...job, repeat_interval: dayMs, repeat_count: -1, trigger_time: at };
    case 'waiting':
      return { ...job, trigger_time: inDays };
  }
}

/** How long after each minute (cron), or after `at` plus whole minutes (repeat), a job of the kind minutely fires. */
export function offsetInMinute(index: number, count: number): number {
  const among = index >> 1;
  // Crons fire at whole seconds, repeats are spread evenly.
  if (index % 2 === 0) return (among % 60) * 1_000;
  return Math.floor((among / Math.ceil(count / 2)) * minuteMs);
}

/** The times from `from` (inclusive) to `to` at which a job of the kind minutely fires. */
export function minutelyTimes(index: number, { count, at }: TimedJobs, from: number, to: number): number[] {
  const origin = index % 2 === 0 ? 0 : at;
  const offset = origin + offsetInMinute(index, count);
  const times: number[] = [];
  for (let time = offset + Math.ceil((from - offset) / minuteMs) * minuteMs; time < to; time += minuteMs) times.push(time);
  return times;
}
