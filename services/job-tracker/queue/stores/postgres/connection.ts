import { Socket } from 'node:net';
import pg from 'pg';
import { messageOf } from '../../../../../shared/errors/lts-error.js';
import { quoted } from '../../../../../shared/errors/quoted.js';
import type { Clock } from '../../../../../shared/time/clock.js';
import { PgFailure } from './pg-errors.js';

/** How a connection is made. */
export interface ConnectionOptions {
  /** postgres://user:password@host:port/database?sslmode=…; never logged or shown. */
  url: string;
  /** What the connection is for, as pg_stat_activity shows it: lts/<what>/<who>. */
  what: string;
  who: string;
  /** Behind a pooler in transaction mode, which refuses options of the session. */
  pooled: boolean;
  /** The server gives up a statement after this time; 0: never. */
  statementTimeoutMs: number;
}

/** How long a connection may take to be made. */
const connectWithinMs = 5_000;
const goodByeWithinMs = 1_000;
/** The server notices so soon that the other end is gone, also in the middle of a statement. */
const goneAfterMs = 10_000;
const checkEveryMs = 2_000;
const idleInTransactionMs = 10_000;

/** Numbers that fit: the schema's bigints are times, sequences and counts. */
const types = new pg.TypeOverrides();
types.setTypeParser(20, Number);
types.setTypeParser(1016, (text: string) => text.slice(1, -1).split(',').filter(Boolean).map(Number));

/** A connection that is made, or was lost. */
export class Connection {
  readonly #client: pg.Client;
  readonly #socket = new Socket();
  readonly #clock: Clock;
  #lost: ((error: unknown) => void) | undefined;
  #why: unknown;
  #isLost = false;

  private constructor(options: ConnectionOptions, clock: Clock) {
    this.#clock = clock;
    this.#client = makeClient(options, this.#socket);
    this.#client.on('error', (error) => this.#end(error));
    this.#client.on('end', () => this.#end(undefined));
    this.#client.on('notice', (notice) => this.#hear(notice));
  }

  /** Connects, and runs `check` within the same time. Rejects with what the server, the network or the check said. */
  static async make(options: ConnectionOptions, clock: Clock, check?: (connection: Connection) => Promise<void>): Promise<Connection> {
    const connection = new Connection(options, clock);
    const timer = clock.after(connectWithinMs, () => connection.destroy(new Error(`no connection within ${connectWithinMs} ms`)), { unref: true });
    const lost = new Promise<never>((_, reject) => (connection.#lost = reject));
    try {
      await Promise.race([connection.#client.connect(), lost]);
      await check?.(connection);
    } catch (error) {
      connection.destroy(error);
      throw connection.#why ?? error;
    } finally {
      timer.cancel();
    }
    return connection;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Sends one statement, or several without values. One at a time. */
  async query<R extends pg.QueryResultRow>(text: string, values: readonly unknown[] | undefined): Promise<pg.QueryResult<R>> {
    // Before there is a promise that destroy() rejects: nobody would wait for it, and that ends the process.
    if (this.#isLost) throw this.#why ?? new Error('the connection was lost');
    const lost = new Promise<never>((_, reject) => (this.#lost = reject));
    try {
      return await Promise.race([this.#client.query<R>(text, values as unknown[] | undefined), lost]);
    } finally {
      this.#lost = undefined;
    }
  }

  /** Ends it at once, whatever runs on it. */
  destroy(why: unknown): void {
    this.#end(why);
    this.#socket.destroy();
  }

  /** Says good-bye to the server; one that does not listen any more is not waited for. */
  async close(): Promise<void> {
    this.#isLost = true;
    const timer = this.#clock.after(goodByeWithinMs, () => this.#socket.destroy());
    await this.#client.end().catch(() => undefined);
    timer.cancel();
  }

  #end(why: unknown): void {
    if (!this.#isLost) this.#why = why;
    this.#isLost = true;
    this.#lost?.(this.#why ?? new Error('the server closed the connection'));
  }

  /** A commit that stopped waiting for its stand-by is stored here, but not as safely as it should be: nobody may be told that it is. */
  #hear({ code, message }: { code?: string | undefined; message?: string | undefined }): void {
    if (code === '57014' || code === '57P01') this.destroy(new Error(message ?? 'the wait for the stand-by ended'));
  }
}

/** The modes of TLS that the driver knows; with any other word it would take its own default. */
const sslModes = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];

function requireSslMode(url: string): void {
  const mode = new URLSearchParams(url.split('?')[1]).get('sslmode');
  if (mode === null || sslModes.includes(mode)) return;
  throw new PgFailure('CONFIG_INVALID', `postgresUrl: sslmode is ${quoted(mode)}; it can be ${sslModes.join(', ')}`, { rolledBack: true, kind: 'denied' });
}

function makeClient({ url, what, who, pooled, statementTimeoutMs }: ConnectionOptions, socket: Socket): pg.Client {
  requireSslMode(url);
  const settings = {
    tcp_user_timeout: goneAfterMs,
    client_connection_check_interval: checkEveryMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    statement_timeout: statementTimeoutMs,
  };
  const config: pg.ClientConfig = {
    connectionString: url,
    application_name: `lts/${what}/${who}`.slice(0, 63),
    keepAlive: true,
    keepAliveInitialDelayMillis: goneAfterMs,
    stream: () => socket,
    types,
  };
  if (!pooled) config.options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`).join(' ');
  try {
    return new pg.Client(config);
  } catch (error) {
    // Of an address that cannot be read the parser shows all, with the password.
    const isFile = (error as { syscall?: unknown }).syscall !== undefined;
    const message = isFile ? `postgresUrl: ${messageOf(error)}; correct sslrootcert, sslcert or sslkey` : 'postgresUrl is not postgres://user:password@host:port/database';
    throw new PgFailure('CONFIG_INVALID', message, { rolledBack: true, kind: 'denied' });
  }
}

/** host:port/database, for people; without user and password. */
export function serverName(url: string): string {
  const { host, port, database } = makeClient({ url, what: '', who: '', pooled: true, statementTimeoutMs: 0 }, new Socket());
  return `${host}:${port}/${database ?? ''}`;
}
