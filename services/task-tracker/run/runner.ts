import type { Mastership } from '../../../shared/master/master-lease.js';
import type { AbortReason } from '../stream/messages.js';

/** The job that a runner gets, as it was submitted. */
export interface RunnerJob {
  /** The user's id, unique with the group while the job lives. */
  readonly taskId: string;
  readonly nodeGroup: string;
  /** The runner that was asked for; empty means "default". */
  readonly type: string;
  /** The bytes that were submitted. Shares memory with its batch: copy it before you change it. */
  readonly payload: Buffer;
  /** Media type of the payload, or empty. */
  readonly contentType: string;
  readonly extParams: Readonly<Record<string, string>>;
  /** Smaller runs first. */
  readonly priority: number;
  /** How many retries the job has in all. */
  readonly maxRetryTimes: number;
  /** Longest run in milliseconds; 0 means no limit. */
  readonly executionTimeoutMs: number;
  /** Group that receives the result, or empty. */
  readonly submitNodeGroup: string;
  /** The payload as UTF-8. */
  text(): string;
  /** The payload as JSON; undefined when it is empty. Throws SyntaxError when it is none. */
  json<T = unknown>(): T;
}

/** Lines that a runner writes end up in the scheduler's store, by instance and attempt. Kept to 64 KiB each. */
export interface RunnerLog {
  debug(text: string): void;
  info(text: string): void;
  warn(text: string): void;
  error(text: string): void;
}

/** What a runner gets. Members may be taken apart: `({ job, signal, log, progress }) => …`. */
export interface RunnerContext {
  readonly job: RunnerJob;
  /** Aborted when the run should stop; its reason is a `RunAborted` that says why. */
  readonly signal: AbortSignal;
  readonly log: RunnerLog;
  /** Tells how far the run is, 0 to 1, with a text of at most 1,024 characters. The newest call counts. */
  progress(fraction: number, text?: string): void;
  /** The run that is owed; the same in every attempt. */
  readonly instanceId: string;
  /** Number of this try, from 1. */
  readonly attempt: number;
  /** When the run was due at first, retries not counted; of a run of a schedule the time for which it stands. */
  readonly scheduledTime: Date;
  /** Whether it is a run of a schedule: `instanceId` then is the token of its scheduled time. */
  readonly scheduled: boolean;
  /** Grows with every attempt of the same task: store it with your writes and refuse smaller ones. */
  readonly fencingToken: number;
  /** Retries that were used before this attempt. */
  readonly retryTimes: number;
  /** Who the master of the group is now; in a thread of its own: was when the run began. */
  readonly mastership: Mastership;
}

/**
 * User code that runs a task. What it returns is the result: nothing, a text, a value that JSON can hold, or an Outcome.
 * What it throws is a failure: any error is retried by the job's policy; see DoNotRetry and RetryLater.
 */
export type Runner = (context: RunnerContext) => unknown;

/** A runner with wishes. */
export interface RunnerWithOptions {
  run: Runner;
  /**
   * Runs in a thread of its own, where it may block. Needs runners that are given as a module, which is loaded again in
   * each such thread. A run that does not stop within 2 s after its abort loses its thread.
   */
  thread?: boolean;
}

/** Runners by job type; `default` gets jobs without a type. A single function gets all jobs. */
export type Runners = Runner | Readonly<Record<string, Runner | RunnerWithOptions>>;

const texts: Record<AbortReason, string> = {
  cancelled: 'the job was cancelled',
  timeout: 'the run took longer than its job allows',
  lost: 'no tracker could be reached for so long that the run may have been given to another worker',
  shutdown: 'the worker is shut down',
};

/** The reason of a runner's abort signal. */
export class RunAborted extends Error {
  readonly why: AbortReason;

  constructor(why: AbortReason) {
    super(texts[why]);
    this.name = 'RunAborted';
    this.why = why;
  }
}
