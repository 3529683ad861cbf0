import type { Mastership } from '../../../shared/master/master-lease.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { Outbox } from '../report/outbox.js';
import { JobContext } from './job-context.js';
import type { Perform, RunnerTable } from './runner-table.js';
import type { Run } from './run.js';
import { settleReturned, settleThrown } from './settle.js';

/** What runJob needs of its surroundings. */
export interface RunPorts {
  runners: RunnerTable;
  outbox: Outbox;
  clock: Clock;
  mastership: () => Mastership;
  /** The run needs its slot no more. */
  onEnd: (run: Run) => void;
}

/*
 * The way of one task through this worker, over one record:
 *
 *   resolve → start timeout → perform → settle → report
 *
 * All of it happens in one go when the runner returns at once; when it returns a promise, the last two steps follow when
 * that settles. Nothing here can throw: whatever the user's code does becomes the outcome.
 */
export function runJob(run: Run, ports: RunPorts): void {
  run.startedAt = ports.clock.now();
  let returned: unknown;
  try {
    const perform = resolve(run, ports);
    if (perform === undefined) return report(run, ports);
    startTimeout(run, ports);
    returned = perform(new JobContext(run, ports), run);
  } catch (error) {
    settleThrown(run, error);
    return report(run, ports);
  }
  if (isPromiseLike(returned)) return performLater(run, returned, ports);
  settleReturned(run, returned);
  report(run, ports);
}

/** The runner for the job's type; without one, the outcome says what there is. */
function resolve(run: Run, { runners }: RunPorts): Perform | undefined {
  if (run.aborted !== undefined) {
    settleThrown(run, 'stopped before it began');
    run.startedAt = 0;
    return undefined;
  }
  const perform = runners.find(run.job.type);
  if (perform !== undefined) return perform;
  const type = run.job.type === '' ? 'default' : run.job.type;
  settleThrown(run, `no runner for type ${type}; this worker has: ${runners.types.join(', ')}`);
  return undefined;
}

/** The stream thread keeps the limit, so that a run which blocks this thread is bounded too. */
function startTimeout(run: Run, { outbox }: RunPorts): void {
  const limitMs = run.job.executionTimeoutMs;
  if (limitMs > 0) outbox.begun({ handle: run.facts.handle, startedAt: run.startedAt, limitMs });
}

function performLater(run: Run, returned: PromiseLike<unknown>, ports: RunPorts): void {
  returned.then(
    (value) => {
      settleReturned(run, value);
      report(run, ports);
    },
    (error: unknown) => {
      settleThrown(run, error);
      report(run, ports);
    },
  );
}

function report(run: Run, { clock, outbox, onEnd }: RunPorts): void {
  run.endedAt = clock.now();
  outbox.ended(run);
  onEnd(run);
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as Partial<PromiseLike<unknown>>).then === 'function';
}
