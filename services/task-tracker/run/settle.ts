import { capText } from '../report/text.js';
import type { AttemptOutcome__Output } from '../../../shared/grpc/generated/lts/v1/AttemptOutcome.js';
import { DoNotRetry, Outcome, RetryLater } from './outcome.js';
import type { Run } from './run.js';
import { RunAborted } from './runner.js';

/** What the runner returned becomes the outcome. */
export function settleReturned(run: Run, value: unknown): void {
  // Settled by the thread that ran it.
  if (run.outcome !== 'ATTEMPT_OUTCOME_UNSPECIFIED') return;
  // A cancel is confirmed by the end of the run, whatever it says.
  if (run.aborted === 'cancelled') return settle(run, 'ATTEMPT_OUTCOME_CANCELLED', messageOfValue(value));
  if (value === undefined) run.outcome = 'ATTEMPT_OUTCOME_SUCCESS';
  else if (value instanceof Outcome) settle(run, value.outcome, value.message, value.retryAt);
  else settle(run, 'ATTEMPT_OUTCOME_SUCCESS', messageOfValue(value));
}

/** What the runner threw becomes the outcome. */
export function settleThrown(run: Run, error: unknown): void {
  if (run.aborted === 'cancelled') return settle(run, 'ATTEMPT_OUTCOME_CANCELLED', messageOfError(error));
  if (error instanceof DoNotRetry) return settle(run, 'ATTEMPT_OUTCOME_FAILED', messageOfError(error));
  if (error instanceof RetryLater) return settle(run, 'ATTEMPT_OUTCOME_LATER', error.message, error.at);
  // The worker stopped it, not the job's fault: no retry is used.
  if (run.aborted === 'shutdown' || run.aborted === 'lost') return settle(run, 'ATTEMPT_OUTCOME_INTERRUPTED', messageOfError(error));
  settle(run, 'ATTEMPT_OUTCOME_EXCEPTION', messageOfError(error));
}

function settle(run: Run, outcome: AttemptOutcome__Output, message: string, retryAt = 0): void {
  const { text, truncated } = capText(message);
  run.settle({ outcome, message: text, truncated, retryAt });
}

function messageOfValue(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return value;
  if (value instanceof Outcome) return value.message;
  try {
    return JSON.stringify(value) ?? '';
  } catch (error) {
    // The work is done: a result that cannot be shown is no reason to do it again.
    return `(the result is not JSON: ${error instanceof Error ? error.message : 'unknown'})`;
  }
}

/** Frames of this worker, which called the user's code: they and all below say nothing about the job. */
const ownFrame = /[/\\]services[/\\]task-tracker[/\\]run[/\\](?:run|run-job|runner-pool|runner-thread|thread-runners)\.js:\d+/;
const nodeFrame = /^\s+at .*\bnode:internal\//;

/** The stack down to the runner itself; of what was thrown to say something and not by a fault, only its message. */
function textOfError(error: Error): string {
  if (error instanceof RunAborted || error instanceof DoNotRetry) return error.message;
  const lines = String(error.stack ?? error).split('\n');
  const own = lines.findIndex((line) => /^\s+at /.test(line) && ownFrame.test(line));
  const kept = own < 0 ? lines : lines.slice(0, own);
  while (nodeFrame.test(kept.at(-1) ?? '')) kept.pop();
  return kept.join('\n');
}

/** The error, with its causes. */
function messageOfError(error: unknown): string {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : `thrown: ${messageOfValue(error)}`;
  let text = textOfError(error);
  let cause = error.cause;
  for (let depth = 0; cause !== undefined && depth < 5; depth++) {
    text += `\ncaused by: ${cause instanceof Error ? textOfError(cause) : messageOfValue(cause)}`;
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return text;
}
