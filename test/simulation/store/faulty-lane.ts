import { LtsError } from '../../../shared/errors/lts-error.js';
import { CommitFailed } from '../../../services/job-tracker/queue/queue-store.js';
import { type Process, Queue, type Scheduler } from '../scheduler.js';
import type { StatementLane } from './memory-store.js';

type Result = { value: unknown } | { error: Error };

interface Call {
  name: string;
  statement: () => unknown;
  /** Tells the caller; once. */
  settle(result: Result): void;
  executed: boolean;
}

/** How a refused call is told. */
export type Refusal = 'STORE_LOCKED' | 'STORE_FAILED' | 'DISK_LOW';

/**
 * A connection of a tracker to the database. Statements run and are answered in the order of the calls. When it breaks,
 * or a statement is not answered in time, the caller does not know what became of it, and neither does anybody else:
 * what was on its way is lost, or it takes effect some time later.
 */
export class FaultyLane implements StatementLane {
  readonly #scheduler: Scheduler;
  readonly #process: Process;
  readonly #deadlineMs: number;
  /** Runs a statement in the name of this connection. */
  readonly #execute: (statement: () => unknown) => unknown;
  #calls: Call[] = [];
  readonly #runs: Queue;
  readonly #leaving: Queue;
  readonly #answers: Queue;
  /** No statement of this connection runs before. */
  slowUntil = 0;
  refusing: Refusal | undefined;
  /** What is on its way takes effect before this time, or not at all. */
  lateUntil = Number.POSITIVE_INFINITY;

  constructor(scheduler: Scheduler, process: Process, deadlineMs: number, execute: (statement: () => unknown) => unknown) {
    this.#scheduler = scheduler;
    this.#process = process;
    this.#deadlineMs = deadlineMs;
    this.#execute = execute;
    this.#runs = new Queue(scheduler);
    this.#leaving = new Queue(scheduler);
    this.#answers = new Queue(scheduler);
  }

  /** Calls that were not answered yet. */
  get pending(): number {
    return this.#calls.length;
  }

  run<T>(name: string, statement: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const tell = (result: Result): void => {
        const what = 'error' in result ? result.error.message : 'done';
        this.#answers.after(this.#scheduler.random.tail(1, 30), `store ${name} ${what}`, () => ('error' in result ? reject(result.error) : resolve(result.value as T)), this.#process);
      };
      if (this.refusing !== undefined) return tell({ error: failure(name, this.refusing, 'the store refuses', true) });
      const deadline = this.#scheduler.after(this.#deadlineMs, `store ${name} deadline`, () => this.breakDown('no answer in time'));
      const settle = (result: Result): void => {
        deadline.cancel();
        tell(result);
      };
      const call: Call = { name, statement, settle, executed: false };
      this.#calls.push(call);
      const runsInMs = Math.max(this.slowUntil - this.#scheduler.now, this.#scheduler.random.tail(2, 60));
      this.#runs.after(runsInMs, `store ${name}`, () => this.#reach(call));
    });
  }

  /** The connection breaks: no caller knows what became of its call. */
  breakDown(why: string): void {
    const { random } = this.#scheduler;
    for (const call of this.#calls.splice(0)) {
      call.settle({ error: failure(call.name, 'STORE_FAILED', why, false) });
      if (call.executed) continue;
      const lateMs = Math.min(random.tail(2_000, 20_000), Math.max(this.lateUntil - this.#scheduler.now, 0));
      call.executed = true;
      // Of the statements on their way some are lost, the others run when the caller is gone.
      if (random.chance(0.5)) this.#scheduler.after(lateMs, `store late ${call.name}`, () => this.#attempt(call));
    }
    this.#runs.forget();
    this.slowUntil = 0;
  }

  #reach(call: Call): void {
    if (call.executed) return;
    call.executed = true;
    const result = this.#attempt(call);
    // Until the answer has left, the connection may still break.
    this.#leaving.after(this.#scheduler.random.tail(1, 20), `store ${call.name} answers`, () => {
      if (!this.#calls.includes(call)) return;
      this.#calls = this.#calls.filter((each) => each !== call);
      call.settle(result);
    });
  }

  #attempt(call: Call): Result {
    try {
      return { value: this.#execute(call.statement) };
    } catch (error) {
      return { error: error as Error };
    }
  }
}

function failure(name: string, reason: Refusal, why: string, rolledBack: boolean): Error {
  return name === 'commit' ? new CommitFailed(reason, why, rolledBack) : new LtsError(reason, why);
}
