import type { DailyWindow } from '../../shared/grpc/generated/lts/v1/DailyWindow.js';
import type { Job } from '../../shared/grpc/generated/lts/v1/Job.js';
import type { ValuesOf } from '../../shared/config/settings.js';
import { parseWeekdays } from '../../shared/schedule/window-text.js';
import type { firingOptions } from './command-options.js';
import { given } from './given.js';
import { parseTime } from './parse-time.js';
import { UsageError } from './usage-error.js';

type FiringOptions = ValuesOf<typeof firingOptions>;

const dialects = { auto: 'CRON_DIALECT_AUTO', unix: 'CRON_DIALECT_UNIX', quartz: 'CRON_DIALECT_QUARTZ' } as const;
const gaps = { skip: 'DST_GAP_POLICY_SKIP', 'run-before': 'DST_GAP_POLICY_RUN_BEFORE', 'run-after': 'DST_GAP_POLICY_RUN_AFTER' } as const;
const overlaps = { first: 'DST_OVERLAP_POLICY_FIRST', second: 'DST_OVERLAP_POLICY_SECOND', both: 'DST_OVERLAP_POLICY_BOTH' } as const;
const misfires = { skip: 'MISFIRE_ACTION_SKIP', 'fire-once': 'MISFIRE_ACTION_FIRE_ONCE', 'fire-all': 'MISFIRE_ACTION_FIRE_ALL' } as const;
const strategies = {
  serial: 'BLOCKING_STRATEGY_SERIAL',
  'discard-later': 'BLOCKING_STRATEGY_DISCARD_LATER',
  'cover-early': 'BLOCKING_STRATEGY_COVER_EARLY',
  concurrent: 'BLOCKING_STRATEGY_CONCURRENT',
} as const;

/** The fields that make a job a schedule, as far as options are given. Whether they go together is the server's to say. Throws UsageError. */
export function firingFromOptions(options: FiringOptions, nowMs: number): Partial<Job> {
  const { repeatEvery, window, rely, blocking } = options;
  return given({
    cron_expression: options.cron,
    cron_dialect: named(dialects, options.dialect),
    time_zone: options.zone,
    dst_gap: named(gaps, options.gap),
    dst_overlap: named(overlaps, options.overlap),
    repeat_interval: repeatEvery,
    repeat_count: options.repeatCount ?? (repeatEvery === undefined || window !== undefined ? undefined : -1),
    repeat_mode: options.fixedDelay === true ? ('REPEAT_MODE_FIXED_DELAY' as const) : undefined,
    rely_on_prev_cycle: rely === undefined ? (blocking === 'concurrent' ? false : undefined) : rely === 'true',
    misfire_policy: orUndefined({ action: named(misfires, options.misfire), threshold: options.misfireThreshold, newest: options.misfireNewest, window: options.misfireWindow }),
    blocking_policy: orUndefined({ strategy: named(strategies, blocking), limit: options.blockingLimit }),
    start_time: options.start === undefined ? undefined : parseTime('--start', options.start, nowMs),
    end_time: options.end === undefined ? undefined : parseTime('--end', options.end, nowMs),
    daily_window: windowOf(options),
  });
}

function named<K extends string, V>(names: Readonly<Record<K, V>>, word: K | undefined): V | undefined {
  return word === undefined ? undefined : names[word];
}

/** A message of which nothing was asked for is not there. */
function orUndefined<T extends object>(fields: T): ReturnType<typeof given<T>> | undefined {
  const found = given(fields);
  return Object.keys(found).length === 0 ? undefined : found;
}

function windowOf({ window, weekdays }: FiringOptions): DailyWindow | undefined {
  if (window === undefined && weekdays !== undefined) throw new UsageError('--weekdays are days of a --window; with --cron they stand in the expression');
  if (window === undefined) return undefined;
  const [from = '', to = '', ...more] = window.split('-');
  if (to === '' || more.length > 0) throw new UsageError(`--window ${window} is not a part of the day such as 09:00-17:00`);
  const days = parseWeekdays(weekdays ?? []);
  if (days === undefined) throw new UsageError(`--weekdays ${weekdays?.join(',')} are not weekdays such as MON-FRI,SUN`);
  return { from, to, weekdays: days };
}
