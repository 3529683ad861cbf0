import { type ConnectionManager, createClient, Exception, type ZooKeeperClient } from 'node-zookeeper-client';
import { messageOf } from '../../../errors/lts-error.js';
import { FrameReader } from './frames.js';
import type { Server } from './servers.js';

/** The identity of a ZooKeeper session, and the last transaction that it has seen. */
export interface SessionKey {
  id: Buffer;
  password: Buffer;
  zxid: bigint;
}

/** What a link tells its owner; `ended` comes exactly once, and nothing after it. */
export interface LinkEvents {
  connected(): void;
  ended(cause: string, expired: boolean): void;
}

// States inside the library's ConnectionManager.
const connecting = 1;
const sessionExpired = -3;
/** The session has moved to another server: this connection is dead for good. */
const sessionMoved = -118;
const knownCodes = new Set(Object.values(Exception).filter((value) => typeof value === 'number'));

/**
 * One TCP connection to one server, made of one client object of the library, which lives no longer than the connection.
 *
 * The library reconnects by itself, with half a packet of the old connection in its buffer, with all watches in one
 * packet that a server may refuse, and with old requests still queued; it throws out of the socket's handler on any
 * code that it does not know. So here it never reconnects, gets whole frames only, and a throw ends the link.
 */
export class LibraryLink {
  readonly client: ZooKeeperClient;
  readonly #manager: ConnectionManager;
  readonly #deliver: (frame: Buffer) => void;
  readonly #events: LinkEvents;
  readonly #frames = new FrameReader();
  #zxid: bigint;
  #unknownCode: number | undefined;
  #ended = false;

  constructor(server: Server, sessionTimeoutMs: number, key: SessionKey | undefined, events: LinkEvents) {
    this.#events = events;
    this.#zxid = key?.zxid ?? 0n;
    // The server's address is put in below: the library cannot parse IPv6.
    this.client = createClient('placeholder:1', {
      sessionTimeout: sessionTimeoutMs,
      spinDelay: 0,
      retries: 0,
      ...(key === undefined ? {} : { sessionId: key.id, sessionPassword: key.password }),
    });
    const manager = this.client.connectionManager;
    this.#manager = manager;
    manager.zxid.writeBigInt64BE(this.#zxid);
    let connected = false;
    manager.findNextServer = (callback) => {
      if (!connected) callback(server);
      connected = true;
    };
    this.#deliver = manager.onSocketData.bind(manager);
    manager.onSocketData = (bytes) => this.#receive(bytes);
    this.client.on('connected', () => !this.#ended && events.connected());
    this.client.on('expired', () => this.end('the session has expired', true));
    this.client.on('authenticationFailed', () => this.end('authentication failed'));
  }

  /** Connects; may end the link at once. */
  open(): void {
    try {
      this.client.connect();
      const socket = this.#manager.socket;
      let cause = 'the server closed the connection';
      socket?.once('error', (error) => {
        cause = messageOf(error);
      });
      // The library's own event is not told when a connection never came about.
      socket?.once('close', () => this.end(cause));
    } catch (error) {
      this.end(messageOf(error));
    }
  }

  get key(): SessionKey {
    return { id: this.client.getSessionId(), password: this.client.getSessionPassword(), zxid: this.#zxid };
  }

  /** How many requests were numbered; the library cannot go beyond 2^31 - 1. */
  get requests(): number {
    return this.#manager.xid;
  }

  /** While an answer is delivered: the code that the library does not know and that was told to it as -1. */
  get unknownCode(): number | undefined {
    return this.#unknownCode;
  }

  /** Retires the client object: its socket is destroyed, it never connects again, and nothing of it is heard any more. */
  end(cause: string, expired = false): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#manager.state = sessionExpired;
    if (this.#manager.connectTimeoutHandler) clearTimeout(this.#manager.connectTimeoutHandler);
    this.#manager.socket?.destroy();
    this.#events.ended(cause, expired);
  }

  #receive(bytes: Buffer): void {
    try {
      for (const frame of this.#frames.push(bytes)) {
        if (this.#ended) return;
        this.#take(frame);
      }
    } catch (error) {
      this.end(`what the server sent makes no sense: ${messageOf(error)}`);
    }
  }

  #take(frame: Buffer): void {
    this.#unknownCode = undefined;
    if (this.#manager.state !== connecting) {
      const xid = frame.readInt32BE(4);
      const zxid = frame.readBigInt64BE(8);
      const code = frame.readInt32BE(16);
      if (xid >= 0 && zxid > this.#zxid) this.#zxid = zxid;
      if (code === sessionMoved) return this.end('the session has moved to another server');
      if (xid >= 0 && !knownCodes.has(code)) {
        this.#unknownCode = code;
        frame.writeInt32BE(-1, 16);
      }
    }
    this.#deliver(frame);
  }
}
