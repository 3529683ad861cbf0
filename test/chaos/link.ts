import { connect, createServer, type Server, type Socket } from 'node:net';
import { systemClock } from '../../shared/time/clock.js';
import { isCaller } from './is-caller.js';

interface Pair {
  client: Socket;
  server: Socket;
  /** Whether a process is its caller, by process id, once somebody has asked. */
  callers: Map<number, boolean>;
}

/** What is done to connections. `up` is what goes to the server. */
export type LinkFault =
  | { kind: 'cut' | 'half-open' }
  /** Held pieces arrive at the end, swallowed ones never. */
  | { kind: 'hold' | 'swallow'; up: boolean; down: boolean }
  | { kind: 'slow'; delayMs: number };

interface Active {
  fault: LinkFault;
  /** Whom it meets; undefined: all. */
  callerPid: (() => number | undefined) | undefined;
}

/**
 * A TCP proxy in front of one server, which breaks the connections of all callers or of one process. Bytes keep their
 * order whatever is broken and healed.
 */
export class Link {
  readonly #target: number;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  readonly #faults = new Set<Active>();

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#take(client));
  }

  /** Listens on a free port in front of a port of 127.0.0.1. */
  static async start(target: number): Promise<Link> {
    const link = new Link(target);
    await new Promise<void>((resolve, reject) => {
      link.#server.once('error', reject);
      link.#server.listen(0, '127.0.0.1', resolve);
    });
    return link;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the link does not listen');
    return address.port;
  }

  get connect(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Breaks the connections, present and new, of the process with that id, or of all. Gives how to heal them. */
  break(fault: LinkFault, callerPid?: () => number | undefined): () => void {
    const active: Active = { fault, callerPid };
    this.#faults.add(active);
    const met = (): Pair[] => [...this.#pairs].filter((pair) => this.#meets(active, pair));
    if (fault.kind === 'cut') for (const pair of met()) this.#end(pair);
    if (fault.kind === 'hold') for (const pair of met()) this.#flow(pair);
    // The server's end stays open, and nobody is behind it.
    if (fault.kind === 'half-open') for (const { client } of met()) client.resetAndDestroy();
    return () => {
      const ended = fault.kind === 'swallow' ? met() : [...this.#pairs].filter(({ client }) => client.destroyed);
      this.#faults.delete(active);
      for (const pair of ended) this.#end(pair);
      for (const pair of this.#pairs) this.#flow(pair);
    };
  }

  async stop(): Promise<void> {
    for (const pair of this.#pairs) this.#end(pair);
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(client: Socket): void {
    client.on('error', () => undefined);
    const server = connect({ port: this.#target, host: '127.0.0.1', allowHalfOpen: true });
    const pair: Pair = { client, server, callers: new Map() };
    this.#pairs.add(pair);
    for (const socket of [client, server]) socket.setNoDelay(true);
    server.on('error', () => this.#end(pair));
    if (this.#now(pair).some(({ kind }) => kind === 'cut')) return this.#end(pair);
    client.on('close', () => this.#now(pair).some(({ kind }) => kind === 'half-open') || this.#end(pair));
    server.on('close', () => this.#end(pair));
    this.#pipe(pair, client, server, 'up');
    this.#pipe(pair, server, client, 'down');
    this.#flow(pair);
  }

  #pipe(pair: Pair, from: Socket, to: Socket, way: 'up' | 'down'): void {
    let before = Promise.resolve();
    const inOrder = (delayMs: number, act: () => void): void => {
      const due = systemClock.monotonic() + delayMs;
      before = before.then(() => (delayMs > 0 ? systemClock.sleep(due - systemClock.monotonic()) : undefined)).then(act);
    };
    from.on('data', (bytes) => {
      const faults = this.#now(pair);
      if (faults.some((fault) => fault.kind === 'swallow' && fault[way])) return;
      const delayMs = Math.max(0, ...faults.map((fault) => (fault.kind === 'slow' ? fault.delayMs : 0)));
      inOrder(delayMs, () => {
        if (!to.destroyed && !to.write(bytes)) from.pause();
      });
    });
    to.on('drain', () => this.#flow(pair));
    from.on('end', () => inOrder(0, () => void to.end()));
  }

  /** Reads from the ends that are not held and whose other end takes more. */
  #flow(pair: Pair): void {
    const faults = this.#now(pair);
    const held = (way: 'up' | 'down'): boolean => faults.some((fault) => fault.kind === 'hold' && fault[way]);
    if (held('up') || pair.server.writableNeedDrain) pair.client.pause();
    else pair.client.resume();
    if (held('down') || pair.client.writableNeedDrain) pair.server.pause();
    else pair.server.resume();
  }

  #now(pair: Pair): LinkFault[] {
    return [...this.#faults].filter((active) => this.#meets(active, pair)).map(({ fault }) => fault);
  }

  #meets({ callerPid }: Active, pair: Pair): boolean {
    if (callerPid === undefined) return true;
    const pid = callerPid();
    if (pid === undefined) return false;
    const known = pair.callers.get(pid);
    if (known !== undefined) return known;
    const is = isCaller(pid, pair.client.remotePort ?? 0);
    pair.callers.set(pid, is);
    return is;
  }

  #end(pair: Pair): void {
    if (!this.#pairs.delete(pair)) return;
    pair.client.resetAndDestroy();
    pair.server.destroy();
  }
}
