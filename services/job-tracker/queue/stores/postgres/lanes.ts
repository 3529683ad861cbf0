import type pg from 'pg';
import type { Clock } from '../../../../../shared/time/clock.js';
import { Lane, type LaneOptions } from './lane.js';
import type { PgFailure } from './pg-errors.js';

/** Where the server is and how calls to it are made. */
export interface LanesOptions {
  url: string;
  pooled: boolean;
  /** Shown in application_name: the node's id, or the process's. */
  who: string;
  clock: Clock;
  /** Every call is answered, or given up, within this time. */
  answerWithinMs: number;
}

/** Whoever asked does not wait longer. */
const readWithinMs = 8_000;
/** Reads for people that run at once. */
const readers = 3;
/** The server gives a statement up a little earlier than we: then it is known that nothing is stored. */
const serverPart = 0.8;

/**
 * The connections of one store: one for commits and calls of the owner, in their order; a few for reads, so that they
 * never delay commits; one for the lower lane.
 */
export class Lanes {
  readonly commits: Lane;
  readonly low: Lane;
  readonly #reads: Lane[];

  constructor(options: LanesOptions) {
    const lane = (what: string, isPatient: boolean, mostMs = Infinity): Lane => {
      const answerWithinMs = Math.min(options.answerWithinMs, mostMs);
      return new Lane({
        ...options,
        what,
        answerWithinMs,
        isPatient,
        statementTimeoutMs: Math.round(answerWithinMs * serverPart),
        onReadOnly: () => this.#renew(),
      } satisfies LaneOptions);
    };
    this.commits = lane('commit', true);
    this.low = lane('low', true);
    this.#reads = Array.from({ length: readers }, () => lane('read', false, readWithinMs));
  }

  get server(): string {
    return this.commits.server;
  }

  /** Why the server cannot be used now. */
  get away(): PgFailure | undefined {
    return this.#all.find((lane) => lane.away !== undefined)?.away;
  }

  /** A read beside the commits, on the connection that has the least to do. */
  read<R extends pg.QueryResultRow>(text: string, values?: readonly unknown[], withinMs?: number): Promise<pg.QueryResult<R>> {
    const least = this.#reads.reduce((a, b) => (b.depth < a.depth ? b : a));
    return least.query<R>(text, values, withinMs);
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((lane) => lane.close()));
  }

  get #all(): Lane[] {
    return [this.commits, this.low, ...this.#reads];
  }

  /** After a fail-over every connection leads to the old server. */
  #renew(): void {
    for (const lane of this.#all) lane.renew();
  }
}
