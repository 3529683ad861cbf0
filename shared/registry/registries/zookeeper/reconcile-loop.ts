import type { Logger } from '../../../log/logger.js';
import { backoffMs } from '../../../time/backoff.js';
import type { Clock, Timer } from '../../../time/clock.js';
import type { Connection } from './connection.js';

export interface LoopOptions {
  /** What it keeps, for log lines. */
  what: string;
  /** Makes the world as it should be, or learns how it is, from any beginning; may be repeated at any time. */
  step: (connection: Connection) => Promise<void>;
  clock: Clock;
  log: Logger;
  /** Least pause between two steps in milliseconds, for things that change often. Default 0. */
  restMs?: number;
}

const firstRetryMs = 50;
const mostRetryMs = 2_000;

/**
 * Runs one step at a time: at the beginning of each connected period, whenever it is poked (by a watch, say), and after
 * a failure. The connection is the generation: a step of an ended one fails at its next operation and is not repeated
 * on it. Pokes during a step lead to exactly one more.
 */
export class ReconcileLoop {
  readonly #options: LoopOptions;
  #connection: Connection | undefined;
  #running = false;
  #due = false;
  #stopped = false;
  #failures = 0;
  #retry: Timer | undefined;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** A period begins or, with undefined, has ended. */
  attach(connection: Connection | undefined): void {
    this.#connection = connection;
    this.#retry?.cancel();
    this.#failures = 0;
    this.poke();
  }

  /** Bound, so that it can be given as a watch callback; the same function each time. */
  readonly poke = (): void => {
    this.#due = true;
    if (!this.#running) void this.#run();
  };

  /** No further step begins. */
  stop(): void {
    this.#stopped = true;
    this.#retry?.cancel();
    this.#connection?.forget(this.poke);
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      while (this.#due && !this.#stopped && this.#connection?.open) {
        this.#due = false;
        await this.#step(this.#connection);
        if (this.#options.restMs !== undefined && !this.#stopped) await this.#options.clock.sleep(this.#options.restMs);
      }
    } finally {
      this.#running = false;
    }
  }

  async #step(connection: Connection): Promise<void> {
    try {
      await this.#options.step(connection);
      this.#failures = 0;
    } catch (error) {
      // The end of the connection is told by the session, and the next period begins with a step anyway.
      if (this.#stopped || this.#connection !== connection || !connection.open) return;
      // One line for the first failure of a row, then one for every 20th.
      if (this.#failures % 20 === 0) this.#options.log.warn('registry.failed', { what: this.#options.what, failures: this.#failures + 1, error });
      this.#retry?.cancel();
      this.#retry = this.#options.clock.after(backoffMs(this.#failures++, firstRetryMs, mostRetryMs), this.poke);
    }
  }
}
