import type { Job } from '../../../shared/grpc/generated/lts/v1/Job.js';

/** How retries of a job are timed: see RetryPolicy in job.proto. Milliseconds. */
export interface NewRetryPolicy {
  /** Default FIXED. */
  law?: 'FIXED' | 'EXPONENTIAL' | 'LIST' | 'RETRY_LAW_UNSPECIFIED' | 'RETRY_LAW_FIXED' | 'RETRY_LAW_EXPONENTIAL' | 'RETRY_LAW_LIST';
  /** FIXED: every delay; EXPONENTIAL: the first. Default 30,000. */
  delay?: number;
  /** EXPONENTIAL: the longest. Default 3,600,000. */
  max_delay?: number;
  /** LIST: the delay of each retry; the last one repeats. */
  delays?: number[];
}

/**
 * A job to submit: the fields of lts.v1.Job with their names and limits, and some more convenient values. Values are
 * checked, not coerced: "5" is no number.
 */
export interface NewJob extends Omit<Job, 'payload' | 'trigger_time' | 'execution_timeout' | 'retry_policy' | 'on_worker_loss' | 'task_id' | 'node_group'> {
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
  on_worker_loss?: 'REQUEUE' | 'FAIL' | 'ON_WORKER_LOSS_UNSPECIFIED' | 'ON_WORKER_LOSS_REQUEUE' | 'ON_WORKER_LOSS_FAIL';
}
