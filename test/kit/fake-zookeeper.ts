import { createServer, type Server, type Socket } from 'node:net';

/**
 * How the fake server behaves to each connection from now on:
 * - `good`: answers; it has a session, an empty tree with a root, and takes every write.
 * - `mute`: takes the connection and never answers.
 * - `no-answers`: shakes hands and then answers nothing.
 * - `only-probes`: shakes hands, answers probes and pings, and nothing else.
 * - `half-packet`: shakes hands, sends half of the first answer and closes.
 * - `expired`: answers each handshake with an expired session.
 * - `garbage`: shakes hands and sends bytes that are no frame.
 * - `code`: answers each request that is no probe with the error `code`.
 */
export type FakeMode = 'good' | 'mute' | 'no-answers' | 'only-probes' | 'half-packet' | 'expired' | 'garbage' | 'code';

const exists = 3;
const ping = 11;
const closeSession = -11;

/** A server that speaks just enough of ZooKeeper's protocol to misbehave in it. */
export class FakeZooKeeper {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  mode: FakeMode;
  code = 0;
  /** Requests seen, by their type. */
  readonly requests: number[] = [];
  handshakes = 0;

  private constructor(mode: FakeMode) {
    this.mode = mode;
    this.#server = createServer((socket) => this.#take(socket));
  }

  static async start(mode: FakeMode): Promise<FakeZooKeeper> {
    const fake = new FakeZooKeeper(mode);
    await new Promise<void>((resolve, reject) => {
      fake.#server.once('error', reject);
      fake.#server.listen(0, '127.0.0.1', resolve);
    });
    return fake;
  }

  get connect(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the fake does not listen');
    return `127.0.0.1:${address.port}`;
  }

  get open(): number {
    return this.#sockets.size;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
    let pending = Buffer.alloc(0);
    let shaken = false;
    socket.on('data', (bytes) => {
      pending = Buffer.concat([pending, bytes]);
      while (pending.length >= 4 && pending.length >= 4 + pending.readInt32BE(0)) {
        const frame = pending.subarray(4, 4 + pending.readInt32BE(0));
        pending = pending.subarray(4 + frame.length);
        if (shaken) this.#answer(socket, frame);
        else this.#shake(socket, frame);
        shaken = true;
      }
    });
  }

  #shake(socket: Socket, frame: Buffer): void {
    if (this.mode === 'mute') return;
    this.handshakes++;
    const timeOut = this.mode === 'expired' ? 0 : frame.readInt32BE(12);
    const answer = Buffer.alloc(4 + 36);
    answer.writeInt32BE(36, 0);
    answer.writeInt32BE(timeOut, 8);
    answer.writeBigInt64BE(timeOut === 0 ? 0n : 0x1234n, 12);
    answer.writeInt32BE(16, 20);
    socket.write(answer);
    if (this.mode === 'expired') socket.end();
    if (this.mode === 'garbage') socket.write(Buffer.from([0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5, 6, 7, 8]));
  }

  #answer(socket: Socket, frame: Buffer): void {
    const xid = frame.readInt32BE(0);
    const type = frame.readInt32BE(4);
    this.requests.push(type);
    if (this.mode === 'no-answers' || this.mode === 'mute') return;
    if (type === closeSession) return void socket.end(reply(xid, 0));
    if (type === ping) return void socket.write(reply(xid, 0));
    if (type === exists && frame.readInt32BE(8) === 1) return this.#answerProbe(socket, xid);
    if (this.mode === 'only-probes') return;
    socket.write(this.mode === 'code' ? reply(xid, this.code) : reply(xid, -101));
  }

  #answerProbe(socket: Socket, xid: number): void {
    const whole = reply(xid, 0, Buffer.alloc(68));
    if (this.mode === 'half-packet') socket.end(whole.subarray(0, whole.length / 2));
    else socket.write(whole);
  }
}

function reply(xid: number, code: number, body: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(4 + 16);
  head.writeInt32BE(16 + body.length, 0);
  head.writeInt32BE(xid, 4);
  head.writeBigInt64BE(1n, 8);
  head.writeInt32BE(code, 16);
  return Buffer.concat([head, body]);
}
