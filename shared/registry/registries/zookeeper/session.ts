import { LtsError } from '../../../errors/lts-error.js';
import type { Logger } from '../../../log/logger.js';
import { backoffMs } from '../../../time/backoff.js';
import type { Clock, Timer } from '../../../time/clock.js';
import { FirstTime } from '../../first-time.js';
import { Listeners } from '../../listeners.js';
import type { RegistryState, Subscription } from '../../registry.js';
import { Connection } from './connection.js';
import type { SessionKey } from './library-link.js';
import type { Server } from './servers.js';

export interface SessionOptions {
  servers: readonly Server[];
  sessionTimeoutMs: number;
  mostRequests: number;
  clock: Clock;
  log: Logger;
  random: () => number;
}

/**
 * One ZooKeeper session after the other, each over one connection after the other.
 *
 * - CONNECTED: the current connection is good. Everything is read anew at the beginning of each such period.
 * - SUSPENDED: the connection ended; the same session is taken up on the next server.
 * - LOST: the server said that the session has expired, or nothing was heard for the whole session time. In the second
 *   case its id is still offered to the servers first: what lives with it may still be there, and is then adopted
 *   instead of becoming an orphan until its expiry.
 *
 * A period never turns into another without SUSPENDED in between. Owner of: session id and password, the time of the
 * last sign of life, the current connection.
 */
export class Session {
  readonly #options: SessionOptions;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #states: Listeners<RegistryState>;
  readonly #periods: Listeners<Connection | undefined>;
  readonly #firstContact = new FirstTime();
  readonly #stop = new AbortController();
  readonly #servers: Server[];
  #state: RegistryState = 'LOST';
  #connection: Connection | undefined;
  /** The connection that exists now, with or without its handshake. */
  #current: Connection | undefined;
  #key: SessionKey | undefined;
  #sessionMs: number;
  #aliveAt = 0;
  #lostTimer: Timer | undefined;
  #running: Promise<void> | undefined;
  #lastFailure = 'no attempt has ended yet';

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#states = new Listeners(options.log);
    this.#periods = new Listeners(options.log);
    this.#sessionMs = options.sessionTimeoutMs;
    // Each client begins somewhere else, so that they spread over the ensemble.
    const first = Math.floor(options.random() * options.servers.length);
    this.#servers = [...options.servers.slice(first), ...options.servers.slice(0, first)];
  }

  get state(): RegistryState {
    if (this.#state !== 'CONNECTED' && this.#state !== 'SUSPENDED') return this.#state;
    if (this.#clock.monotonic() >= this.#aliveAt + this.#sessionMs) return 'LOST';
    return this.#connection?.stalled ? 'SUSPENDED' : this.#state;
  }

  /** Whether a leader may act: its lease is shorter than the session, so that it ends before ZooKeeper names another. */
  get leased(): boolean {
    return this.state === 'CONNECTED' && this.#clock.monotonic() < this.#aliveAt + (this.#sessionMs * 2) / 3;
  }

  /** The connection of the current period. */
  get connection(): Connection | undefined {
    return this.#connection;
  }

  /** The session of the current or, between two, of the last period; 0 when it has ended. */
  get sessionId(): bigint {
    return this.#state === 'LOST' ? 0n : (this.#key?.id.readBigUInt64BE() ?? 0n);
  }

  /** The current connection; REGISTRY_UNAVAILABLE without one. */
  require(): Connection {
    if (this.#connection?.open && this.state === 'CONNECTED') return this.#connection;
    throw new LtsError('REGISTRY_UNAVAILABLE', `ZooKeeper does not answer (${this.state}): ${this.#lastFailure}`);
  }

  onState(listener: (state: RegistryState) => void): Subscription {
    return this.#states.add(listener);
  }

  /** Called with the connection at the beginning of each period, before the state changes, and with undefined at its end. */
  onPeriod(listener: (connection: Connection | undefined) => void): Subscription {
    return this.#periods.add(listener);
  }

  /** Begins to connect, and resolves when it has for the first time; REGISTRY_UNAVAILABLE at the deadline, while it goes on trying. */
  async start(deadlineMs: number): Promise<void> {
    this.#running ??= this.#run();
    const timer = this.#clock.after(deadlineMs, () => {
      const servers = this.#servers.map(({ host, port }) => `${host}:${port}`).join(', ');
      this.#firstContact.never(new LtsError('REGISTRY_UNAVAILABLE', `no ZooKeeper session within ${deadlineMs} ms from ${servers}: ${this.#lastFailure}`));
    });
    try {
      await this.#firstContact.promise;
    } finally {
      timer.cancel();
    }
  }

  /** Ends the session on the server when that can be done at once; else what lives with it goes at its expiry. */
  async close(): Promise<void> {
    if (this.#state === 'CLOSED') return;
    this.#stop.abort(new Error('closed'));
    this.#firstContact.never(new LtsError('CANCELLED', 'the registry was closed'));
    if (this.#connection !== undefined) await this.#connection.closeSession(Math.min(this.#sessionMs / 3, 2_000));
    else this.#current?.end('closed');
    await this.#running;
    this.#lostTimer?.cancel();
    this.#set('CLOSED');
  }

  async #run(): Promise<void> {
    for (let tries = 0; !this.#stop.signal.aborted; tries++) {
      const server = this.#servers[tries % this.#servers.length] as Server;
      const openedAt = this.#clock.monotonic();
      const { cause, expired } = await this.#connect(server);
      if (this.#stop.signal.aborted) return;
      this.#lastFailure = `${server.host}:${server.port}: ${cause}`;
      const again = expired && this.#key !== undefined;
      if (expired) this.#endSession(cause);
      // A session that ended is replaced at once; a connection that lasted counts as a new beginning.
      if (again) continue;
      if (this.#clock.monotonic() - openedAt > this.#sessionMs) tries = 0;
      const pauseMs = backoffMs(Math.floor(tries / this.#servers.length), 20, Math.min(1_000, this.#sessionMs / 5), this.#options.random);
      await this.#clock.sleep(pauseMs, this.#stop.signal).catch(() => undefined);
    }
  }

  /** One connection from its beginning to its end. */
  #connect(server: Server): Promise<{ cause: string; expired: boolean }> {
    return new Promise((resolve) => {
      const { sessionTimeoutMs, mostRequests, clock } = this.#options;
      const connection = new Connection({
        server,
        sessionTimeoutMs,
        handshakeMs: Math.max(250, Math.min(sessionTimeoutMs / this.#servers.length, sessionTimeoutMs / 3)),
        key: this.#key,
        mostRequests,
        clock,
        onAlive: (sentAt) => {
          this.#aliveAt = Math.max(this.#aliveAt, sentAt);
        },
        onOpen: (opened) => this.#beginPeriod(opened),
        onEnd: (cause, expired) => {
          this.#endPeriod(connection, cause);
          resolve({ cause, expired });
        },
      });
      this.#current = connection;
      connection.connect();
    });
  }

  #beginPeriod(connection: Connection): void {
    if (this.#stop.signal.aborted) return connection.end('closed');
    const known = this.#key;
    if (known !== undefined && !known.id.equals(connection.key.id)) this.#endSession('the server began another session');
    this.#key = connection.key;
    this.#sessionMs = connection.sessionMs;
    this.#connection = connection;
    this.#lostTimer?.cancel();
    this.#log.info('registry.connected', {
      server: connection.server,
      session: connection.sessionId.toString(16),
      resumed: known !== undefined,
      sessionMs: this.#sessionMs,
    });
    this.#periods.emit(connection);
    this.#set('CONNECTED');
    this.#firstContact.happened();
  }

  #endPeriod(connection: Connection, cause: string): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#key = connection.key;
    this.#periods.emit(undefined);
    if (this.#stop.signal.aborted) return;
    this.#log.warn('registry.suspended', { server: connection.server, cause });
    this.#set('SUSPENDED');
    const leftMs = this.#aliveAt + this.#sessionMs - this.#clock.monotonic();
    this.#lostTimer?.cancel();
    this.#lostTimer = this.#clock.after(leftMs, () => {
      // A server with wiped or restored data refuses everyone who has seen more than it has.
      if (this.#key !== undefined) this.#key.zxid = 0n;
      this.#lose(`nothing was heard for ${this.#sessionMs} ms`);
    });
  }

  #endSession(cause: string): void {
    this.#key = undefined;
    this.#lose(cause);
  }

  #lose(cause: string): void {
    this.#lostTimer?.cancel();
    if (this.#state === 'LOST') return;
    this.#log.warn('registry.lost', { cause });
    this.#set('LOST');
  }

  #set(state: RegistryState): void {
    if (this.#state === state || this.#state === 'CLOSED') return;
    this.#state = state;
    this.#states.emit(state);
  }
}
