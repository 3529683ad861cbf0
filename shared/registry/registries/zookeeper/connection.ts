import { CreateMode, type Failure, type ZooKeeperClient, type ZooKeeperStat } from 'node-zookeeper-client';
import type { Clock, Timer } from '../../../time/clock.js';
import { LibraryLink, type SessionKey } from './library-link.js';
import type { Server } from './servers.js';
import { PathWatchers } from './path-watchers.js';
import { fromServerCode, ZkError } from './zk-error.js';

/** What is known of a node. */
export interface Stat {
  version: number;
  /** Transaction that created it. */
  created: bigint;
  /** Session that it lives with; 0 for a persistent node. */
  owner: bigint;
}

export interface ConnectionOptions {
  server: Server;
  /** Asked for; the server answers with what it grants. */
  sessionTimeoutMs: number;
  /** For connect and handshake together. */
  handshakeMs: number;
  /** The session to go on with. */
  key: SessionKey | undefined;
  /** The connection is replaced after so many requests, before the library's counter runs over. */
  mostRequests: number;
  clock: Clock;
  onOpen(connection: Connection): void;
  /** The session has certainly lived at this monotonic time. */
  onAlive(sentAt: number): void;
  onEnd(cause: string, expired: boolean): void;
}

interface Operation {
  what: string;
  send(client: ZooKeeperClient): void;
  reject(error: ZkError): void;
  sentAt: number;
}

/** Operations that wait for an answer at the same time; more wait in line. */
const mostInFlight = 100;
const mostWaiting = 100_000;
const nothing = Buffer.alloc(0);

/**
 * Operations on one connection, from the handshake to its end. It notices by itself when the server falls silent:
 * with T the granted session time, an `exists('/')` goes out every T/5 and must be answered within T/5, any other
 * operation within T/3, and the event loop must not stand still for T/5; otherwise the connection is ended, and with
 * it every operation on it. There is no second connection for the same object.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #clock: Clock;
  readonly #link: LibraryLink;
  readonly #inFlight = new Set<Operation>();
  readonly #waiting: Operation[] = [];
  readonly #watchers = new PathWatchers();
  readonly #openedAt: number;
  #timer: Timer;
  #onClosed: () => void = () => undefined;
  #open = false;
  #ended = false;
  #tickAt = 0;
  #probeSentAt: number | undefined;
  #probeDueAt = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#openedAt = this.#clock.monotonic();
    this.#link = new LibraryLink(options.server, options.sessionTimeoutMs, options.key, {
      connected: () => this.#onConnected(),
      ended: (cause, expired) => this.#onEnded(cause, expired),
    });
    this.#timer = this.#clock.after(options.handshakeMs, () => this.end(`no session within ${Math.round(options.handshakeMs)} ms`));
  }

  connect(): void {
    this.#link.open();
  }

  /** Whether operations may be sent. */
  get open(): boolean {
    return this.#open;
  }

  get server(): string {
    return `${this.#options.server.host}:${this.#options.server.port}`;
  }

  get key(): SessionKey {
    return this.#link.key;
  }

  get sessionId(): bigint {
    return this.#link.client.getSessionId().readBigUInt64BE();
  }

  /** Granted session time. */
  get sessionMs(): number {
    return this.#link.client.getSessionTimeout();
  }

  /** Whether this process has been standing still for too long to know anything. */
  get stalled(): boolean {
    return this.#clock.monotonic() - this.#tickAt > this.sessionMs / 5;
  }

  exists(path: string, onChange?: () => void): Promise<Stat | null> {
    const watcher = onChange && this.#watchers.add(`data ${path}`, onChange);
    return this.#call(`exists ${path}`, (client, done) => client.exists(path, watcher, (error, stat) => done(error, stat && toStat(stat))));
  }

  get(path: string, onChange?: () => void): Promise<{ data: Buffer; stat: Stat }> {
    const watcher = onChange && this.#watchers.add(`data ${path}`, onChange);
    return this.#call(`get ${path}`, (client, done) =>
      client.getData(path, watcher, (error, data, stat) => (error ? done(error) : done(null, { data: data ?? nothing, stat: toStat(stat) }))),
    );
  }

  children(path: string, onChange?: () => void): Promise<string[]> {
    const watcher = onChange && this.#watchers.add(`children ${path}`, onChange);
    return this.#call(`children ${path}`, (client, done) => client.getChildren(path, watcher, done));
  }

  /** Creates a node and returns its path. */
  create(path: string, data: Buffer, mode: 'PERSISTENT' | 'EPHEMERAL' | 'EPHEMERAL_SEQUENTIAL'): Promise<string> {
    return this.#call(`create ${path}`, (client, done) => client.create(path, data, CreateMode[mode], done));
  }

  set(path: string, data: Buffer, version: number): Promise<Stat> {
    return this.#call(`set ${path}`, (client, done) => client.setData(path, data, version, (error, stat) => (error ? done(error) : done(null, toStat(stat)))));
  }

  remove(path: string): Promise<void> {
    return this.#call(`remove ${path}`, (client, done) => client.remove(path, -1, (error) => done(error, undefined)));
  }

  /** Creates a persistent node that has version 1 from the first moment: version 0 is not safe in the library's checks. */
  createAtOne(path: string, data: Buffer): Promise<void> {
    return this.#call(`create ${path}`, (client, done) =>
      client
        .transaction()
        .create(path, nothing, CreateMode.PERSISTENT)
        .setData(path, data, -1)
        .commit((error) => done(error, undefined)),
    );
  }

  /** Puts an ephemeral node of this session in the place of another session's, with no moment in between without one. */
  replaceEphemeral(path: string, data: Buffer): Promise<void> {
    return this.#call(`replace ${path}`, (client, done) =>
      client
        .transaction()
        .remove(path, -1)
        .create(path, data, CreateMode.EPHEMERAL)
        .commit((error) => done(error, undefined)),
    );
  }

  /** Forgets a callback that waits for a change; the server's watch stays until it fires or the connection ends. */
  forget(onChange: () => void): void {
    this.#watchers.forget(onChange);
  }

  /** Ends the session, and with it all that lives with it; gives up after the limit. */
  async closeSession(limitMs: number): Promise<void> {
    if (!this.#open || this.#ended) return this.end('closed');
    this.#open = false;
    this.#timer.cancel();
    this.#timer = this.#clock.after(limitMs, () => this.end('closed without an answer'));
    const ended = new Promise<void>((resolve) => {
      this.#onClosed = resolve;
    });
    try {
      this.#link.client.close();
    } catch {
      this.end('closed');
    }
    await ended;
  }

  end(cause: string): void {
    this.#link.end(cause);
  }

  #onConnected(): void {
    if (this.#open || this.#ended) return;
    this.#open = true;
    this.#timer.cancel();
    this.#tickAt = this.#clock.monotonic();
    this.#probeDueAt = this.#tickAt + this.sessionMs / 5;
    this.#armTick();
    // The server counts from when it got our request, which is later than when we began to connect.
    this.#options.onAlive(this.#openedAt);
    this.#options.onOpen(this);
  }

  #onEnded(cause: string, expired: boolean): void {
    this.#open = false;
    this.#ended = true;
    this.#timer.cancel();
    this.#watchers.clear();
    for (const operation of this.#inFlight) operation.reject(new ZkError('UNKNOWN', `${operation.what}: outcome unknown: ${cause}`));
    for (const operation of this.#waiting) operation.reject(new ZkError('NOT_SENT', `${operation.what}: not sent: ${cause}`));
    this.#inFlight.clear();
    this.#waiting.length = 0;
    this.#onClosed();
    this.#options.onEnd(cause, expired);
  }

  #armTick(): void {
    this.#timer = this.#clock.after(Math.max(5, this.sessionMs / 20), () => this.#tick());
  }

  #tick(): void {
    const now = this.#clock.monotonic();
    const fifth = this.sessionMs / 5;
    const standstill = now - this.#tickAt;
    this.#tickAt = now;
    if (standstill > fifth) return this.end(`this process stood still for ${Math.round(standstill)} ms`);
    for (const oldest of this.#inFlight) {
      if (now - oldest.sentAt > this.sessionMs / 3) return this.end(`no answer to "${oldest.what}" within ${Math.round(now - oldest.sentAt)} ms`);
      break;
    }
    if (this.#probeSentAt !== undefined && now - this.#probeSentAt > fifth) return this.end(`no answer to a probe within ${Math.round(fifth)} ms`);
    if (this.#link.requests > this.#options.mostRequests) return this.end(`replaced after ${this.#link.requests} requests`);
    if (now >= this.#probeDueAt && this.#probeSentAt === undefined) this.#probe(now);
    this.#armTick();
  }

  #probe(now: number): void {
    this.#probeSentAt = now;
    this.#probeDueAt = now + this.sessionMs / 5;
    this.#link.client.exists('/', undefined, (error) => {
      this.#probeSentAt = undefined;
      if (!error && this.#open) this.#options.onAlive(now);
    });
  }

  #call<T>(what: string, send: (client: ZooKeeperClient, done: (error: Failure, value?: T) => void) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (!this.#open) return reject(new ZkError('NOT_SENT', `${what}: not connected`));
      if (this.#waiting.length >= mostWaiting) return reject(new ZkError('NOT_SENT', `${what}: ${mostWaiting} operations are waiting`));
      const operation: Operation = { what, reject, sentAt: 0, send: () => undefined };
      operation.send = (client) =>
        send(client, (error, value) => {
          if (this.#inFlight.delete(operation)) this.#sendNext();
          if (error) reject(fromServerCode(what, this.#link.unknownCode ?? error.code, error));
          else resolve(value as T);
        });
      this.#waiting.push(operation);
      this.#sendNext();
    });
  }

  #sendNext(): void {
    while (this.#open && this.#inFlight.size < mostInFlight) {
      const operation = this.#waiting.shift();
      if (operation === undefined) return;
      operation.sentAt = this.#clock.monotonic();
      this.#inFlight.add(operation);
      try {
        operation.send(this.#link.client);
      } catch (error) {
        this.#inFlight.delete(operation);
        operation.reject(new ZkError('NOT_SENT', `${operation.what}: the client library refused it`, { cause: error }));
      }
    }
  }
}

function toStat(stat: ZooKeeperStat): Stat {
  return { version: stat.version, created: stat.czxid.readBigInt64BE(), owner: stat.ephemeralOwner.readBigUInt64BE() };
}
