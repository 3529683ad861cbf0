import type { Mastership } from '../../../shared/master/master-lease.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { Outbox } from '../report/outbox.js';
import type { AbortReason } from '../stream/messages.js';
import { readTasks, type TaskBatch } from '../stream/task-batch.js';
import { runJob, type RunPorts } from './run-job.js';
import type { RunnerTable } from './runner-table.js';
import { Run } from './run.js';

/** What the pool needs of its surroundings. */
export interface PoolPorts {
  runners: RunnerTable;
  outbox: Outbox;
  clock: Clock;
  mastership: () => Mastership;
  /** Takes in what the stream thread has said meanwhile, such as aborts of runs that have not begun yet. */
  catchUp(): void;
}

/**
 * The runs of this worker. Each has a slot: tasks come only as slots are granted (stream/credits.ts), so all that arrive
 * begin at once. The pool owns a run from its arrival to its report.
 */
export class RunnerPool {
  readonly #active = new Map<number, Run>();
  readonly #ports: PoolPorts;
  readonly #runPorts: RunPorts;

  constructor(ports: PoolPorts) {
    this.#ports = ports;
    const { runners, outbox, clock, mastership } = ports;
    this.#runPorts = { runners, outbox, clock, mastership, onEnd: (run) => this.#active.delete(run.facts.handle) };
  }

  get running(): number {
    return this.#active.size;
  }

  start(tasks: TaskBatch): void {
    const runs: Run[] = [];
    readTasks(tasks, (facts, job) => {
      const run = new Run(facts, job);
      runs.push(run);
      this.#active.set(facts.handle, run);
    });
    const last = runs.at(-1);
    for (const run of runs) {
      runJob(run, this.#runPorts);
      if (run !== last) this.#ports.catchUp();
    }
  }

  abortAll(why: AbortReason): void {
    for (const run of this.#active.values()) run.abort(why);
  }

  abort(handles: readonly number[], why: AbortReason): void {
    for (const handle of handles) this.#active.get(handle)?.abort(why);
  }
}
