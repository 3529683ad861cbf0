import type { AttemptOutcome } from '../queue/instance-state.js';
import type { Finish, RunPolicy } from '../queue/queue-store.js';
import { retryDelay } from './retry-delay.js';

/** What the decision looks at. */
export interface FinishedRun {
  policy: RunPolicy;
  retryTimes: number;
  lostTimes: number;
  cancelling: boolean;
}

/** What else is known of the end. */
export interface EndHints {
  /** LATER: when the runner wants to run again. 0 or unset: by the job's law. */
  retryAt?: number;
  /** INTERRUPTED: the attempt has certainly not begun. */
  neverBegan?: boolean;
  /** Its schedule is gone or suspended: it does not run again. */
  over?: boolean;
}

/** A runner may ask for a time at most so far ahead. */
const furthestRetryMs = 366 * 86_400_000;

/**
 * How an instance goes on after an attempt ended. A cancelled run ends CANCELLED unless its result came first; LATER
 * and EXCEPTION use up a retry; a loss counts against max_lost; an interrupted run is owed again without using a retry.
 * Jobs that must not run twice end as LOST whenever it is not certain that they did not begin. A run whose schedule is
 * over does not run again: it ends as what the attempt was.
 */
export function decide(run: FinishedRun, outcome: AttemptOutcome, hints: EndHints, now: number): Finish['next'] {
  const { policy, retryTimes, lostTimes } = run;
  const retryAt = hints.retryAt ?? 0;
  if (outcome === 'SUCCESS') return { state: 'SUCCEEDED' };
  if (outcome === 'FAILED') return { state: 'FAILED' };
  if (run.cancelling) return { state: 'CANCELLED' };
  switch (outcome) {
    case 'LATER':
    case 'EXCEPTION': {
      if (retryTimes >= policy.maxRetryTimes || hints.over) return { state: 'FAILED' };
      const wished = outcome === 'LATER' && retryAt > 0 ? Math.min(retryAt, now + furthestRetryMs) : now + retryDelay(policy.retry, retryTimes + 1);
      return { dueAt: Math.max(wished, now), retryTimes: retryTimes + 1, lostTimes };
    }
    case 'LOST':
      if (policy.failOnLoss || lostTimes + 1 >= policy.maxLost || hints.over) return { state: 'LOST' };
      return { dueAt: now, retryTimes, lostTimes: lostTimes + 1 };
    case 'CANCELLED':
    case 'INTERRUPTED':
      if (policy.failOnLoss && !hints.neverBegan) return { state: 'LOST' };
      return hints.over ? { state: 'CANCELLED' } : { dueAt: now, retryTimes, lostTimes };
  }
}
