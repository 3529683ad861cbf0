import { connect, createServer, type Server, type Socket } from 'node:net';

/** Which way bytes go: `up` to the server, `down` to the client. */
export type Direction = 'up' | 'down';

interface Pair {
  client: Socket;
  server: Socket | undefined;
}

/**
 * A TCP proxy on 127.0.0.1 that plays the faults of a network. A fault holds for present and new connections until
 * `heal()`.
 */
export class TcpProxy {
  readonly #target: number;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #mode: 'pass' | 'refuse' | 'blackhole' = 'pass';
  #delayMs = 0;
  #swallow: { direction: Direction; when: (bytes: Buffer) => boolean } | undefined;
  #cutAfter: { direction: Direction; left: number } | undefined;
  /** Is shown every piece before any fault happens to it. */
  tap: ((direction: Direction, bytes: Buffer) => void) | undefined;
  /** Connections taken so far. */
  accepted = 0;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => this.#take(client));
  }

  /** Listens on a free port in front of a port of 127.0.0.1. */
  static async start(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once('error', reject);
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy does not listen');
    return address.port;
  }

  get connect(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** How many connections are open. */
  get open(): number {
    return this.#pairs.size;
  }

  /** Ends all present connections with a reset. */
  cut(): void {
    for (const pair of this.#pairs) this.#end(pair);
  }

  /** Ends all present connections and each new one at once. */
  refuse(): void {
    this.#mode = 'refuse';
    this.cut();
  }

  /** Takes connections and bytes and lets none through, either way. */
  blackhole(): void {
    this.#mode = 'blackhole';
  }

  /** Ends the client's side of what the server sends, and goes on in the other direction. */
  halfClose(): void {
    for (const { client } of this.#pairs) client.end();
  }

  /** Holds every piece for so long, both ways. */
  delay(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** Lets so many more bytes through in one direction, then cuts that connection, once. */
  cutAfter(direction: Direction, bytes: number): void {
    this.#cutAfter = { direction, left: bytes };
  }

  /** The next piece that fits is not passed on and its connection is cut, once. */
  swallowOnce(direction: Direction, when: (bytes: Buffer) => boolean = () => true): void {
    this.#swallow = { direction, when };
  }

  /** Whether the fault that happens once has happened. */
  get spent(): boolean {
    return this.#swallow === undefined && this.#cutAfter === undefined;
  }

  /** No fault any more; connections that were in a black hole are cut. */
  heal(): void {
    if (this.#mode === 'blackhole') this.cut();
    this.#mode = 'pass';
    this.#delayMs = 0;
    this.#swallow = undefined;
    this.#cutAfter = undefined;
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(client: Socket): void {
    this.accepted++;
    client.on('error', () => undefined);
    if (this.#mode === 'refuse') return void client.resetAndDestroy();
    const pair: Pair = { client, server: undefined };
    this.#pairs.add(pair);
    client.on('close', () => this.#end(pair));
    if (this.#mode === 'blackhole') return void client.resume();
    const server = connect({ port: this.#target, host: '127.0.0.1', allowHalfOpen: true });
    pair.server = server;
    server.on('error', () => this.#end(pair));
    server.on('close', () => this.#end(pair));
    server.on('end', () => client.end());
    client.on('end', () => server.end());
    client.on('data', (bytes) => this.#pass(pair, 'up', bytes));
    server.on('data', (bytes) => this.#pass(pair, 'down', bytes));
  }

  #pass(pair: Pair, direction: Direction, bytes: Buffer): void {
    if (this.#mode === 'blackhole') return;
    this.tap?.(direction, bytes);
    if (this.#delayMs > 0) return void setTimeout(() => this.#write(pair, direction, bytes), this.#delayMs);
    this.#write(pair, direction, bytes);
  }

  #write(pair: Pair, direction: Direction, bytes: Buffer): void {
    const to = direction === 'up' ? pair.server : pair.client;
    if (to === undefined || to.destroyed || this.#mode === 'blackhole') return;
    if (this.#swallow?.direction === direction && this.#swallow.when(bytes)) {
      this.#swallow = undefined;
      return this.#end(pair);
    }
    if (this.#cutAfter?.direction === direction) {
      this.#cutAfter.left -= bytes.length;
      if (this.#cutAfter.left <= 0) {
        const rest = bytes.subarray(0, bytes.length + this.#cutAfter.left);
        this.#cutAfter = undefined;
        to.end(rest, () => this.#end(pair));
        return;
      }
    }
    to.write(bytes);
  }

  #end(pair: Pair): void {
    if (!this.#pairs.delete(pair)) return;
    pair.client.resetAndDestroy();
    pair.server?.destroy();
  }
}
