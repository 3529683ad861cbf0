import { existsSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DoNotRetry, RetryLater, type RunnerContext, type Runners } from '../../services/task-tracker/index.js';
import { systemClock } from '../../shared/time/clock.js';

/** The field of `ext_params` that names the folder of the history. */
const folderParam = 'history';

const files = new Map<string, number>();

/** Adds a line to the witness. One small write to a file that is open for appending: lines of several processes do not mix. */
function witness(kind: 'start' | 'end', { job, instanceId, attempt, fencingToken }: RunnerContext): void {
  const folder = job.extParams[folderParam];
  if (folder === undefined) throw new DoNotRetry(`the job has no ext_params.${folderParam}`);
  let file = files.get(folder);
  if (file === undefined) files.set(folder, (file = openSync(join(folder, 'witness.jsonl'), 'a')));
  const line = { kind, id: instanceId, attempt, fence: fencingToken, pid: process.pid, task: job.taskId, at: systemClock.now() };
  writeSync(file, `${JSON.stringify(line)}\n`);
}

/**
 * Starts and ends of a run that can end; an end is written for every run that this process survives. The message is at
 * least as long as ext_params.message_length says.
 */
function witnessed(run: (context: RunnerContext) => Promise<void> | void) {
  return async (context: RunnerContext): Promise<string> => {
    witness('start', context);
    try {
      await run(context);
    } finally {
      witness('end', context);
    }
    return `attempt ${context.attempt} on ${process.pid}`.padEnd(Number(context.job.extParams['message_length'] ?? 0), '.');
  };
}

/** The runs that the whole-system tests need, by job type. */
export const runners: Runners = {
  quick: witnessed(() => undefined),
  /** Leaves no trace. */
  silent: () => undefined,
  /** Takes as many milliseconds as the payload says. */
  slow: witnessed(({ job, signal }) => systemClock.sleep(Number(job.text()), signal)),
  /** Goes on until the file that the payload names is there. */
  hold: witnessed(async ({ job, signal }) => {
    while (!existsSync(job.text())) await systemClock.sleep(20, signal);
  }),
  /** Holds the thread for as many milliseconds as the payload says. */
  block: witnessed(({ job }) => {
    const until = systemClock.monotonic() + Number(job.text());
    while (systemClock.monotonic() < until);
  }),
  /** Kills its worker. */
  crash: (context) => {
    witness('start', context);
    process.kill(process.pid, 'SIGKILL');
    return new Promise(() => undefined);
  },
  fail: witnessed(() => {
    throw new Error('it fails each time');
  }),
  /** Asks once to run again in half a second. */
  later: witnessed(({ attempt }) => {
    if (attempt === 1) throw new RetryLater(500);
  }),
};
