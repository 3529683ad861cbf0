import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../kit/eventually.js';
import { Link, type LinkFault } from '../link.js';

/** One end of a connection and what it has got. */
class End {
  readonly socket: Socket;
  got = '';
  closed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (bytes: Buffer) => (this.got += bytes.toString()));
    socket.on('error', () => undefined);
    socket.on('close', () => (this.closed = true));
  }

  async gets(text: string): Promise<void> {
    await eventually(() => this.got === text, { withinMs: 2_000, what: `${text} has come` });
  }
}

describe('Link', () => {
  let server: Server;
  let link: Link;
  const served: End[] = [];
  const called: End[] = [];

  beforeEach(async () => {
    server = createServer((socket) => served.push(new End(socket)));
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
    });
    link = await Link.start(port);
  });

  afterEach(async () => {
    for (const { socket } of [...served.splice(0), ...called.splice(0)]) socket.destroy();
    await link.stop();
    server.close();
  });

  /** Both ends of a new connection, through which something has passed. */
  async function call(): Promise<[End, End]> {
    const client = new End(connect(link.port, '127.0.0.1'));
    called.push(client);
    const before = served.length;
    client.socket.write('hello ');
    await eventually(() => served.length > before);
    const peer = served.at(-1) as End;
    await peer.gets('hello ');
    return [client, peer];
  }

  /** What was sent before comes before; a second way round tells that nothing more would come. */
  const both = (client: End, peer: End, text: string): void => {
    client.socket.write(text);
    peer.socket.write(text);
  };

  it('holds one way back and delivers it in order at the end', async () => {
    const [client, peer] = await call();
    const heal = link.break({ kind: 'hold', up: true, down: false });
    both(client, peer, '1');
    await client.gets('1');
    expect(peer.got).toBe('hello ');
    heal();
    both(client, peer, '2');
    await peer.gets('hello 12');
    await client.gets('12');
  });

  it('loses one way, and ends the connection at the end', async () => {
    const [client, peer] = await call();
    const heal = link.break({ kind: 'swallow', up: false, down: true });
    both(client, peer, '1');
    await peer.gets('hello 1');
    expect(client.got).toBe('');
    heal();
    await eventually(() => client.closed && peer.closed);
    expect(client.got).toBe('');
    await call();
  });

  it('cuts what is there and what comes', async () => {
    const [client, peer] = await call();
    const heal = link.break({ kind: 'cut' });
    await eventually(() => client.closed && peer.closed);
    const second = new End(connect(link.port, '127.0.0.1'));
    await eventually(() => second.closed);
    expect(served).toHaveLength(1);
    heal();
    await call();
  });

  it('leaves the called end open when it is half open', async () => {
    const [client, peer] = await call();
    const heal = link.break({ kind: 'half-open' });
    await eventually(() => client.closed);
    await call();
    expect(peer.closed).toBe(false);
    heal();
    await eventually(() => peer.closed);
  });

  it('keeps the order when it gets faster again', async () => {
    const [client, peer] = await call();
    const heal = link.break({ kind: 'slow', delayMs: 100 });
    client.socket.write('1');
    heal();
    client.socket.write('2');
    await peer.gets('hello 12');
    expect(client.closed).toBe(false);
  });

  it.each<LinkFault>([{ kind: 'cut' }, { kind: 'half-open' }])('meets only the caller that is meant: $kind', async (fault) => {
    const [client] = await call();
    // Not the next number: that may be a thread of this very process.
    link.break(fault, () => process.ppid);
    await call();
    expect(client.closed).toBe(false);
    link.break(fault, () => process.pid);
    await eventually(() => client.closed);
  });
});
