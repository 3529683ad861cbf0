import { Metadata, type StatusObject } from '@grpc/grpc-js';
import type { Process, Scheduler } from '../scheduler.js';
import { ClientEnd, type Method, type Sender, ServerEnd, type ToClient, type ToServer } from './ends.js';
import { Links } from './links.js';
import { Pipe } from './pipe.js';

/** Serves calls of one method. */
export type Serve = { duplex: (call: never) => void } | { unary: (call: never, callback: never) => void };

/** A listening server. */
interface Server {
  process: Process;
  methods: ReadonlyMap<string, Serve>;
}

interface Connection {
  client: Process;
  server: Process;
  clientEnd: ClientEnd;
  serverEnd: ServerEnd;
  close(): void;
}

/** With so many frames on the way a stream is full; it drains when most have arrived. */
const fullAt = 16;
const drainedAt = 2;
/** When a peer that does not answer is given up. */
const keepaliveMs = [10_000, 15_000] as const;

/** All connections of the simulated system, one per call. */
export class Network {
  readonly links: Links;
  readonly #scheduler: Scheduler;
  readonly #servers = new Map<string, Server>();
  readonly #connections = new Set<Connection>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
    this.links = new Links(scheduler.random);
    this.links.onBlock((from, to) => {
      for (const connection of this.#connections) {
        const hosts = [connection.client.host, connection.server.host];
        if (hosts.includes(from) && hosts.includes(to)) this.#watch(connection);
      }
    });
  }

  listen(address: string, server: Server): void {
    this.#servers.set(address, server);
  }

  /** Opens a call. Nobody listens there: it fails after a moment. */
  call(from: Process, address: string, method: Method): ClientEnd {
    const server = this.#servers.get(address);
    if (server === undefined || !server.process.alive) return this.#refused(from, address, method);
    const { process } = server;
    const toServer: Pipe<ToServer> = new Pipe(this.#scheduler, this.links, from, process, (item) => {
      if (item.kind === 'reset') this.#drop(connection);
      serverEnd.take(item);
    });
    const toClient: Pipe<ToClient> = new Pipe(this.#scheduler, this.links, process, from, (item) => {
      if (item.kind !== 'data') this.#drop(connection);
      clientEnd.take(item);
    });
    const clientEnd = new ClientEnd(method, this.#sender(toServer, from, () => clientEnd));
    const serverEnd = new ServerEnd(method, this.#sender(toClient, process, () => serverEnd), from.name);
    const close = (): void => {
      toServer.close();
      toClient.close();
    };
    const connection: Connection = { client: from, server: process, clientEnd, serverEnd, close };
    this.#connections.add(connection);
    this.#accept(server, method, serverEnd);
    if (this.links.blocked(from.host, process.host) || this.links.blocked(process.host, from.host)) this.#watch(connection);
    return clientEnd;
  }

  /** One request and its answer, or the error, by a deadline of the caller's clock. */
  unary(from: Process, address: string, method: Method, request: unknown, limitMs: number, answer: (error: StatusObject | null, response?: unknown) => void): void {
    const call = this.call(from, address, method);
    let response: unknown;
    let settled = false;
    const settle = (error: StatusObject | null): void => {
      if (settled) return;
      settled = true;
      timer.cancel();
      answer(error, error === null ? response : undefined);
    };
    const timer = this.#scheduler.after(limitMs, 'deadline', () => {
      if (settled) return;
      settled = true;
      call.cancel();
      answer(deadlineExceeded());
    }, from);
    call.on('data', (value: unknown) => (response = value));
    call.on('error', (error: StatusObject) => settle(error));
    call.on('end', () => settle(null));
    call.write(request);
    call.end();
  }

  /** The process is gone: its system resets its connections, or nobody does when the whole machine is gone. */
  killed(process: Process, silently: boolean): void {
    for (const connection of [...this.#connections]) {
      if (connection.client !== process && connection.server !== process) continue;
      if (silently) this.#watch(connection);
      else this.#scheduler.after(this.links.latencyMs(), 'reset by peer', () => this.#lose(connection), connection.client === process ? connection.server : connection.client);
    }
  }

  /** The process stands still: its peers notice after a while. */
  paused(process: Process): void {
    for (const connection of this.#connections) if (connection.client === process || connection.server === process) this.#watch(connection);
  }

  /** Cuts some connection. */
  cutOne(): void {
    const all = [...this.#connections];
    if (all.length > 0) this.#lose(this.#scheduler.random.pick(all));
  }

  #sender<T extends ToClient | ToServer>(pipe: Pipe<T>, owner: Process, end: () => { emit(event: 'drain'): boolean }): Sender<T> {
    let full = false;
    return {
      send: (item, what) => {
        pipe.send(item, what);
        if (pipe.pending < fullAt) return true;
        if (!full) {
          full = true;
          const look = (): void => {
            if (pipe.pending > drainedAt) return void this.#scheduler.after(20, 'look for room', look, owner);
            full = false;
            end().emit('drain');
          };
          this.#scheduler.after(5, 'look for room', look, owner);
        }
        return false;
      },
    };
  }

  #accept(server: Server, method: Method, call: ServerEnd): void {
    const serve = server.methods.get(method.path);
    if (serve === undefined) throw new Error(`nobody serves ${method.path}`);
    // The handler runs when the call arrives, which is before its first frame.
    this.#scheduler.after(0, `call ${method.path}`, () => {
      if ('duplex' in serve) return serve.duplex(call as never);
      call.once('data', (request: unknown) => {
        const info = { request, getPath: () => method.path, getPeer: () => call.getPeer() };
        const callback = (error: StatusObject | null, response?: unknown): void => {
          if (error !== null) return void call.emit('error', error);
          call.write(response);
          call.end();
        };
        serve.unary(info as never, callback as never);
      });
    }, server.process);
  }

  #refused(from: Process, address: string, method: Method): ClientEnd {
    const end = new ClientEnd(method, { send: () => true });
    this.#scheduler.after(this.links.latencyMs(), 'refused', () => end.lose(`connect ECONNREFUSED ${address}`), from);
    return end;
  }

  /** Both sides ask for a sign of life; whoever gets none gives up. */
  #watch(connection: Connection): void {
    const { client, server } = connection;
    for (const side of [client, server]) {
      this.#scheduler.after(this.#scheduler.random.between(...keepaliveMs), 'keepalive', () => {
        if (!this.#connections.has(connection)) return;
        const other = side === client ? server : client;
        const silent = !other.alive || other.paused || this.links.blocked(client.host, server.host) || this.links.blocked(server.host, client.host);
        if (!silent) return;
        if (!other.alive) this.#drop(connection);
        if (side === client) connection.clientEnd.lose('keepalive timeout');
        else connection.serverEnd.lose();
      }, side);
    }
  }

  #lose(connection: Connection): void {
    const { client, server, clientEnd, serverEnd } = connection;
    this.#drop(connection);
    this.#scheduler.after(0, 'connection lost', () => clientEnd.lose('the connection was lost'), client);
    this.#scheduler.after(this.links.latencyMs(), 'connection lost', () => serverEnd.lose(), server);
  }

  #drop(connection: Connection): void {
    this.#connections.delete(connection);
    connection.close();
  }
}

function deadlineExceeded(): StatusObject {
  return Object.assign(new Error('Deadline exceeded'), { code: 4, details: 'Deadline exceeded', metadata: new Metadata() });
}
