import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { RetryLater, type RunnerContext, type Runners } from '../../services/task-tracker/index.js';
import { systemClock } from '../../shared/time/clock.js';
import type { Ended, Started } from '../checker/history.js';
import { hostMs } from './host-clock.js';

/** Runners that tell the witness in that folder when they begin and end. */
export function witnessRunners(folder: string): Runners {
  // Small writes to a file that is open for appending: lines of several processes do not mix.
  const file = openSync(join(folder, 'witness.jsonl'), 'a');
  const tell = (kind: 'start' | 'end', { job, instanceId, attempt, fencingToken }: RunnerContext): void => {
    const event: Started | (Ended & { fence: number }) = { kind, id: instanceId, attempt, fence: fencingToken, pid: process.pid, group: job.nodeGroup, at: Math.round(hostMs()) };
    writeSync(file, `${JSON.stringify(event)}\n`);
  };
  const witnessed = (run: (context: RunnerContext) => Promise<void> | void) => async (context: RunnerContext): Promise<string> => {
    tell('start', context);
    try {
      await run(context);
    } finally {
      tell('end', context);
    }
    return `attempt ${context.attempt}`;
  };
  return {
    quick: witnessed(() => undefined),
    /** Takes as many milliseconds as the payload says. */
    slow: witnessed(({ job, signal }) => systemClock.sleep(Number(job.text()), signal)),
    /** Fails in as many attempts as the payload says. */
    fail: witnessed(({ job, attempt }) => {
      if (attempt <= Number(job.text())) throw new Error(`attempt ${attempt} fails`);
    }),
    /** Asks once to run again later. */
    later: witnessed(({ attempt }) => {
      if (attempt === 1) throw new RetryLater(500);
    }),
  };
}
