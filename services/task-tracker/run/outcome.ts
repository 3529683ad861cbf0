import { systemClock } from '../../../shared/time/clock.js';
import { parseDuration } from '../../../shared/time/duration.js';
import type { AttemptOutcome__Output } from '../../../shared/grpc/generated/lts/v1/AttemptOutcome.js';

/** When a retry should run: a Date, milliseconds from now, or a duration such as "30s". */
export type RetryWhen = Date | number | string;

/** Throw it to end the job as FAILED: no retry follows. */
export class DoNotRetry extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DoNotRetry';
  }
}

/** Throw it to run again later: at `when`, or by the job's retry policy. Uses one retry. */
export class RetryLater extends Error {
  /** Milliseconds since 1970 UTC; 0: by the job's policy. */
  readonly at: number;

  constructor(when?: RetryWhen, message = 'asked to run again later', options?: ErrorOptions) {
    super(message, options);
    this.name = 'RetryLater';
    this.at = when === undefined ? 0 : timeOf(when);
  }
}

/** A result that a runner returns instead of throwing. */
export class Outcome {
  readonly outcome: AttemptOutcome__Output;
  readonly message: string;
  /** Milliseconds since 1970 UTC; 0: by the job's policy. */
  readonly retryAt: number;

  private constructor(outcome: AttemptOutcome__Output, message: string, retryAt: number) {
    this.outcome = outcome;
    this.message = message;
    this.retryAt = retryAt;
  }

  /** Done. */
  static success(message = ''): Outcome {
    return new Outcome('ATTEMPT_OUTCOME_SUCCESS', message, 0);
  }

  /** Failed; no retry follows. */
  static failed(message: string): Outcome {
    return new Outcome('ATTEMPT_OUTCOME_FAILED', message, 0);
  }

  /** Not now: again at `when`, or by the job's retry policy. */
  static later(when?: RetryWhen, message = 'asked to run again later'): Outcome {
    return new Outcome('ATTEMPT_OUTCOME_LATER', message, when === undefined ? 0 : timeOf(when));
  }
}

function timeOf(when: RetryWhen): number {
  const at = when instanceof Date ? when.getTime() : systemClock.now() + (typeof when === 'number' ? when : (parseDuration(when) ?? Number.NaN));
  if (!Number.isFinite(at) || at < 0 || at > Number.MAX_SAFE_INTEGER) throw new RangeError(`${String(when)} is no time for a retry; give a Date, milliseconds from now, or a duration such as "30s"`);
  return Math.trunc(at);
}
