import type pg from 'pg';
import { backoffMs } from '../../../../../shared/time/backoff.js';
import type { Clock, Timer } from '../../../../../shared/time/clock.js';
import { Connection, type ConnectionOptions, serverName } from './connection.js';
import { failureOf, PgFailure } from './pg-errors.js';

/** What a lane is made of. */
export interface LaneOptions extends ConnectionOptions {
  clock: Clock;
  /** Every call is answered, or given up, within this time. */
  answerWithinMs: number;
  /** Calls wait for a server that is away; otherwise they are rejected as long as it is. */
  isPatient: boolean;
  /** The server turned out to take no writes: other connections to it are no better. */
  onReadOnly(): void;
}

interface Call {
  text: string;
  values: readonly unknown[] | undefined;
  /** Where it was sent; undefined: it was not. */
  on: Connection | undefined;
  repeats: number;
  timer: Timer | undefined;
  resolve(result: pg.QueryResult): void;
  reject(failure: PgFailure): void;
}

/** A statement that the server rolled back for another one's sake is tried again so often. */
const mostRepeats = 5;
const firstPauseMs = 25;
const mostPauseMs = 2_000;

const probe = `SELECT pg_is_in_recovery() AS standby, current_setting('default_transaction_read_only') = 'on' AS "readOnly"`;

/** Throws as a write would, when the server takes none. */
async function requireWritable(connection: Connection): Promise<void> {
  const { rows } = await connection.query<{ standby: boolean; readOnly: boolean }>(probe, undefined);
  if (rows[0]?.standby !== true && rows[0]?.readOnly !== true) return;
  const why = rows[0].standby ? 'the server is a stand-by' : 'default_transaction_read_only is on';
  throw Object.assign(new Error(why), { code: '25006', severity: 'ERROR' });
}

/**
 * One connection, on which calls run one after the other in their order. A call is one statement, one transaction.
 *
 * A call that waits for its turn, or for a connection, and passes its deadline was never sent: nothing of it is stored.
 * One that was sent takes the connection with it, as its answer might still come: its outcome is unknown. A lost
 * connection is replaced, with back-off, until a server answers that takes writes; calls that were not sent run then.
 */
export class Lane {
  readonly server: string;
  readonly #options: LaneOptions;
  readonly #waiting: Call[] = [];
  readonly #closing = new AbortController();
  #connection: Connection | undefined;
  #work: Promise<void> | undefined;
  #away: PgFailure | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.server = serverName(options.url);
  }

  /** Calls that wait or run. */
  get depth(): number {
    return this.#waiting.length;
  }

  /** Why there is no connection; undefined: there is one, or none was needed so far. */
  get away(): PgFailure | undefined {
    return this.#away;
  }

  /** Runs one statement; without values also several, as one transaction. Rejects with PgFailure. */
  query<R extends pg.QueryResultRow>(text: string, values?: readonly unknown[], withinMs = this.#options.answerWithinMs): Promise<pg.QueryResult<R>> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#notOpen());
    if (this.#away !== undefined && !this.#options.isPatient) return Promise.reject(this.#unsent(this.#away));
    return new Promise((resolve, reject) => {
      const call: Call = { text, values, on: undefined, repeats: 0, timer: undefined, resolve: resolve as (result: pg.QueryResult) => void, reject };
      call.timer = this.#options.clock.after(withinMs, () => this.#giveUp(call, withinMs));
      this.#waiting.push(call);
      this.#work ??= this.#run();
    });
  }

  /** The next call gets another connection; one that runs goes on. */
  renew(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined && this.#waiting[0]?.on !== connection) void connection.close();
  }

  /** Waits for what runs, then closes. What waits for a connection is given up. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#work;
    await this.#connection?.close();
    this.#connection = undefined;
  }

  async #run(): Promise<void> {
    for (let tries = 0; this.#waiting.length > 0 || this.#away !== undefined; ) {
      // A call that finds the lane idle is sent before the caller goes on.
      const connection = this.#usable ?? (await this.#connect());
      const call = this.#waiting[0];
      if (connection !== undefined) {
        tries = 0;
        if (call !== undefined) await this.#send(call, connection);
      } else if (this.#closing.signal.aborted) {
        this.#rejectAll(this.#notOpen());
        break;
      } else await this.#sleep(tries++);
    }
    this.#work = undefined;
  }

  get #usable(): Connection | undefined {
    return this.#connection?.isLost === false ? this.#connection : undefined;
  }

  /** Undefined: a connection could not be made now. */
  async #connect(): Promise<Connection | undefined> {
    this.#connection = undefined;
    if (this.#closing.signal.aborted) return undefined;
    try {
      this.#connection = await Connection.make(this.#options, this.#options.clock, requireWritable);
      this.#away = undefined;
    } catch (error) {
      this.#away = failureOf(this.server, error, false);
      // Waiting does not make a wrong password right.
      if (this.#away.kind === 'denied' || !this.#options.isPatient) this.#rejectAll(this.#unsent(this.#away));
    }
    return this.#connection;
  }

  async #send(call: Call, connection: Connection): Promise<void> {
    call.on = connection;
    try {
      const result = await connection.query(call.text, call.values);
      this.#settle(call, () => call.resolve(result));
    } catch (error) {
      const failure = failureOf(this.server, error, true);
      if (failure.kind === 'read-only') this.#options.onReadOnly();
      if (connection.isLost || !failure.rolledBack || failure.kind === 'read-only') {
        connection.destroy(error);
        this.#away = failure;
      }
      if (failure.kind !== 'repeat' || ++call.repeats > mostRepeats) return this.#settle(call, () => call.reject(failure));
      call.on = undefined;
      await this.#sleep(call.repeats);
    } finally {
      // It was renewed meanwhile.
      if (connection !== this.#connection && !connection.isLost) void connection.close();
    }
  }

  #giveUp(call: Call, withinMs: number): void {
    if (call.on !== undefined) return call.on.destroy(new Error(`no answer within ${Math.round(withinMs)} ms`));
    const why = this.#away === undefined ? '; earlier calls took too long' : ` (${this.#away.message})`;
    const message = `store ${this.server}: no turn within ${Math.round(withinMs)} ms${why}`;
    this.#settle(call, () => call.reject(new PgFailure('STORE_FAILED', message, { rolledBack: true, kind: 'away' })));
  }

  #settle(call: Call, settle: () => void): void {
    call.timer?.cancel();
    const at = this.#waiting.indexOf(call);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    settle();
  }

  #rejectAll(failure: PgFailure): void {
    for (const call of [...this.#waiting]) this.#settle(call, () => call.reject(failure));
  }

  /** What ended another call says nothing of this one, which was not sent. */
  #unsent({ reason, message, kind, cause }: PgFailure): PgFailure {
    return new PgFailure(reason, message, { rolledBack: true, kind, cause });
  }

  #notOpen(): PgFailure {
    return new PgFailure('STORE_FAILED', `store ${this.server} is not open`, { rolledBack: true, kind: 'other' });
  }

  async #sleep(tries: number): Promise<void> {
    await this.#options.clock.sleep(backoffMs(tries, firstPauseMs, mostPauseMs), this.#closing.signal).catch(() => undefined);
  }
}
