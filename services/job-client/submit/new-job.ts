import type { Job } from '../../../shared/grpc/generated/lts/v1/Job.js';

/** A name of the contract's enums, with or without its prefix. */
export type EnumName<Prefix extends string, Name extends string> = Name | `${Prefix}_${Name | 'UNSPECIFIED'}`;

/** How retries of a job are timed: see RetryPolicy in job.proto. Milliseconds. */
export interface NewRetryPolicy {
  /** Default FIXED. */
  law?: EnumName<'RETRY_LAW', 'FIXED' | 'EXPONENTIAL' | 'LIST'>;
  /** FIXED: every delay; EXPONENTIAL: the first. Default 30,000. */
  delay?: number;
  /** EXPONENTIAL: the longest. Default 3,600,000. */
  max_delay?: number;
  /** LIST: the delay of each retry; the last one repeats. */
  delays?: number[];
}

/** What becomes of scheduled times at which nobody could fire: see MisfirePolicy in job.proto. Milliseconds. */
export interface NewMisfirePolicy {
  /** Default FIRE_ONCE. */
  action?: EnumName<'MISFIRE_ACTION', 'SKIP' | 'FIRE_ONCE' | 'FIRE_ALL'>;
  /** A fire that is less late is not missed. Default 60,000. */
  threshold?: number;
  /** FIRE_ALL: only the newest so many run. Default 100. */
  newest?: number;
  /** FIRE_ALL: only those run that are no older. Default: of any age. */
  window?: number;
}

/** What becomes of a fire that finds runs still going: see BlockingPolicy in job.proto. */
export interface NewBlockingPolicy {
  /** Default DISCARD_LATER; CONCURRENT with `rely_on_prev_cycle: false`. */
  strategy?: EnumName<'BLOCKING_STRATEGY', 'SERIAL' | 'DISCARD_LATER' | 'COVER_EARLY' | 'CONCURRENT'>;
  /** SERIAL: how many wait, default 1. CONCURRENT: how many run at once, default any number. */
  limit?: number;
}

/** How a cron expression is read. */
export interface CronReading {
  /** Default AUTO: by the form of the expression, where there is no doubt. */
  cron_dialect?: EnumName<'CRON_DIALECT', 'AUTO' | 'UNIX' | 'QUARTZ'>;
  /** IANA name. Default UTC. */
  time_zone?: string;
  /** A local time that the clock skips. Default: once a day, at the first instant after it. */
  dst_gap?: EnumName<'DST_GAP_POLICY', 'SKIP' | 'RUN_BEFORE' | 'RUN_AFTER'>;
  /** A local time that comes twice. Default: once a day, at the first one. */
  dst_overlap?: EnumName<'DST_OVERLAP_POLICY', 'FIRST' | 'SECOND' | 'BOTH'>;
}

type Convenient = 'payload' | 'trigger_time' | 'execution_timeout' | 'retry_policy' | 'on_worker_loss' | 'task_id' | 'node_group';
type ConvenientTimes = keyof CronReading | 'repeat_interval' | 'repeat_mode' | 'misfire_policy' | 'blocking_policy' | 'start_time' | 'end_time';

/**
 * A job to submit: the fields of lts.v1.Job with their names and limits, and some more convenient values. Values are
 * checked, not coerced: "5" is no number. With a `cron_expression`, or a `repeat_interval` and a `repeat_count` or
 * `daily_window`, it is a schedule.
 */
export interface NewJob extends Omit<Job, Convenient | ConvenientTimes>, CronReading {
  task_id: string;
  node_group: string;
  /** Bytes, or a text that is sent as UTF-8. At most 1 MiB. */
  payload?: Uint8Array | string;
  /** Earliest start: milliseconds since 1970 UTC, or a Date. */
  trigger_time?: number | Date;
  /** Longest run of one attempt in milliseconds. 0: no limit. */
  execution_timeout?: number;
  retry_policy?: NewRetryPolicy | null;
  /** What happens to a running attempt whose worker is lost. Default REQUEUE. */
  on_worker_loss?: EnumName<'ON_WORKER_LOSS', 'REQUEUE' | 'FAIL'>;
  /** From one fire to the next in milliseconds. */
  repeat_interval?: number;
  /** Whether the interval counts from fire to fire or from the end of a run. Default FIXED_RATE. */
  repeat_mode?: EnumName<'REPEAT_MODE', 'FIXED_RATE' | 'FIXED_DELAY'>;
  misfire_policy?: NewMisfirePolicy | null;
  blocking_policy?: NewBlockingPolicy | null;
  /** Nothing fires before: milliseconds since 1970 UTC, or a Date. */
  start_time?: number | Date;
  /** Nothing fires after: milliseconds since 1970 UTC, or a Date. */
  end_time?: number | Date;
}
