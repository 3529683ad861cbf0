import type pg from 'pg';
import type { Clock } from '../../../../../shared/time/clock.js';
import type { Lane } from './lane.js';
import { PgFailure } from './pg-errors.js';

/** Runs statements of one call, all within the call's deadline. */
export type RunStatement = <R extends pg.QueryResultRow>(text: string, values?: readonly unknown[]) => Promise<pg.QueryResult<R>>;

/**
 * Calls of several statements on a lane, one call after the other: a commit that is split after it failed on data must
 * not let others in between. The deadline of a call begins when it is made.
 */
export class OrderedCalls {
  readonly #lane: Lane;
  readonly #clock: Clock;
  readonly #withinMs: number;
  #last: Promise<unknown> = Promise.resolve();
  /** Calls that wait or run. */
  #open = 0;

  constructor(lane: Lane, clock: Clock, withinMs: number) {
    this.#lane = lane;
    this.#clock = clock;
    this.#withinMs = withinMs;
  }

  /** Rejects with what `work` throws; a PgFailure, when it is a statement that failed. */
  run<T>(work: (query: RunStatement) => Promise<T>): Promise<T> {
    const until = this.#clock.monotonic() + this.#withinMs;
    const query: RunStatement = (text, values) => {
      const leftMs = until - this.#clock.monotonic();
      if (leftMs > 0) return this.#lane.query(text, values, leftMs);
      const message = `store ${this.#lane.server}: no turn within ${this.#withinMs} ms; earlier calls took too long`;
      return Promise.reject(new PgFailure('STORE_FAILED', message, { rolledBack: true, kind: 'away' }));
    };
    const done = this.#open++ === 0 ? work(query) : this.#last.then(() => work(query));
    const end = (): void => void this.#open--;
    this.#last = done.then(end, end);
    return done;
  }
}
