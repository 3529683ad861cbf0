import { createHash } from 'node:crypto';
import { DoNotRetry, RetryLater, type RunnerContext, type Runners } from '../task-tracker/index.js';
import { systemClock } from '../../shared/time/clock.js';
import { parseDuration } from '../../shared/time/duration.js';

// Something to try the suite with: lts job submit --group demo --type <one of these>.

const longestSleepMs = 3_600_000;

/** Gives the payload back. */
function echo({ job, log }: RunnerContext): string {
  log.info(`got ${job.payload.length} bytes`);
  return job.text();
}

/** Sleeps for the payload ("2s"), tells its progress, and stops when it is asked to. */
async function sleep(context: RunnerContext): Promise<string> {
  const text = context.job.text();
  const ms = text === '' ? 1_000 : parseDuration(text);
  if (ms === undefined || ms > longestSleepMs) throw new DoNotRetry(`the payload ${text.slice(0, 40)} is not a duration of at most 1h, such as 2s`);
  const steps = 10;
  for (let step = 1; step <= steps; step++) {
    await systemClock.sleep(ms / steps, context.signal);
    context.progress(step / steps);
  }
  return `slept ${ms} ms`;
}

/** Fails with the payload as its message; retried as the job says. */
function fail({ job }: RunnerContext): never {
  throw new Error(job.text() || 'failed because it was asked to');
}

/** Ends as FAILED at once, whatever retries the job has. */
function failForGood({ job }: RunnerContext): never {
  throw new DoNotRetry(job.text() || 'failed for good because it was asked to');
}

/** Asks to run again after the payload ("5s") and then succeeds; needs --max-retry-times 1. */
function later({ job, retryTimes }: RunnerContext): string {
  if (retryTimes > 0) return `ran after ${retryTimes} retries`;
  throw new RetryLater(job.text() || '1s');
}

/** SHA-256, size, lines and words of the payload. */
function checksum({ job }: RunnerContext): object {
  const text = job.text();
  return {
    sha256: createHash('sha256').update(job.payload).digest('hex'),
    bytes: job.payload.length,
    lines: text === '' ? 0 : text.split('\n').length,
    words: text.split(/\s+/).filter((word) => word !== '').length,
  };
}

/** The runners of the worker that `npm start` brings along. */
export const sampleRunners: Runners = { default: echo, echo, sleep, fail, 'fail-for-good': failForGood, later, checksum };

/** Under the name by which a worker of its own finds them: --runners dist/services/standalone/sample-runners.js. */
export { sampleRunners as runners };
