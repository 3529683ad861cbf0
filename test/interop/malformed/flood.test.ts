import { connect as connectHttp2, constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { Metadata, status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ListNodesResponse__Output } from '../../../shared/grpc/generated/lts/v1/ListNodesResponse.js';
import type { ListQueuesResponse__Output } from '../../../shared/grpc/generated/lts/v1/ListQueuesResponse.js';
import type { SubmitJobsResponse__Output } from '../../../shared/grpc/generated/lts/v1/SubmitJobsResponse.js';
import { newId } from '../../../shared/ids.js';
import { eventually } from '../../kit/eventually.js';
import { Caller } from '../caller.js';
import { type LoneTracker, startTracker } from '../tracker-and-gateway.js';
import { DeafStream } from './deaf-stream.js';
import { expectTakesJobs, expectUnhurt, residentMiB } from './health.js';
import { encodeLoose } from './hostile-values.js';
import { WorkStream } from './work-stream.js';

/** What the floods may leave behind in memory at most. */
const boundMiB = 160;

/** The whole heap is capped, the young part too, and the allocator keeps no arena per thread: what is measured is what is held. */
const capped = { NODE_OPTIONS: '--max-old-space-size=192 --max-semi-space-size=4', MALLOC_ARENA_MAX: '2' };

let service: LoneTracker;
let caller: Caller;
let hostile: Caller;
let quietMiB = 0;

beforeAll(async () => {
  service = await startTracker(['--ping-interval', '500ms', '--grace', '1s'], capped);
  caller = new Caller(service.address);
  await submitMany('warm-up', 5_000, 1_000);
  await submitMany('warm-up-wide', 100, 512 * 1024);
  quietMiB = residentMiB(service.tracker.pid);
});

afterAll(async () => {
  caller.close();
  await service.stop();
});

beforeEach(() => {
  hostile = new Caller(service.address);
});

afterEach(async () => {
  hostile.close();
  await expectTakesJobs(caller);
  expectUnhurt(service.tracker);
  await eventually(() => residentMiB(service.tracker.pid) < quietMiB + boundMiB, { what: `memory near ${quietMiB} MiB` });
});

async function submitMany(group: string, count: number, bytes: number): Promise<void> {
  const payload = Buffer.alloc(bytes, 1);
  const perCall = Math.max(1, Math.min(1_000, Math.floor((3.5 * 1024 * 1024) / (bytes + 100))));
  for (let from = 0; from < count; from += perCall) {
    const jobs = Array.from({ length: Math.min(perCall, count - from) }, (_, n) => ({ task_id: `${from + n}`, node_group: group, payload }));
    const { results } = await caller.call<SubmitJobsResponse__Output>('JobService/SubmitJobs', { jobs });
    expect(results.every(({ code }) => code === 0)).toBe(true);
  }
}

async function nodesOf(group: string): Promise<number> {
  const { nodes } = await caller.call<ListNodesResponse__Output>('AdminService/ListNodes', {});
  return nodes.filter((node) => node.node_group === group).length;
}

async function executing(group: string): Promise<number> {
  const { queues } = await caller.call<ListQueuesResponse__Output>('AdminService/ListQueues', { node_group: group });
  return Number(queues[0]?.executing ?? 0);
}


const frameBytes = (frame: object): Buffer => encodeLoose('WorkRequest', frame);

/** A worker that reads nothing. */
function deafWorker(group: string): DeafStream {
  const stream = new DeafStream(service.address, '/lts.v1.WorkerService/Work');
  stream.send(frameBytes({ hello: { node_id: group, incarnation: newId(), node_group: group } }));
  stream.send(frameBytes({ inventory: { end: true } }));
  return stream;
}

/** Waits until the worker is cut off, which says Pong all the time; gives the most memory meanwhile. */
async function peakUntilGone(stream: DeafStream, group: string): Promise<number> {
  const pong = frameBytes({ pong: { nonce: 1 } });
  let peak = 0;
  await eventually(async () => (await nodesOf(group)) === 1, { what: 'it is known' });
  await eventually(async () => {
    stream.send(pong);
    peak = Math.max(peak, residentMiB(service.tracker.pid));
    return (await nodesOf(group)) === 0;
  }, { withinMs: 40_000, everyMs: 100, what: 'it is cut off' });
  return peak;
}

describe('a worker', () => {
  it('that never reads is cut off; the slots it grants and the results it floods fill no memory', async () => {
    await submitMany('greedy', 400, 512 * 1024);
    const greedy = deafWorker('greedy');
    greedy.send(frameBytes({ slots: { granted: 100_000 } }));
    await eventually(() => executing('greedy'), { what: 'it is given tasks' });
    const flooder = deafWorker('flooder');
    const results = Array.from({ length: 10_000 }, () => ({ instance_id: newId(), attempt: 1, incarnation: newId(), outcome: 1 }));
    const frame = frameBytes({ results: { sequence: 1, results } });
    for (let n = 0; n < 150; n++) flooder.send(frame);

    const peaks = await Promise.all([peakUntilGone(greedy, 'greedy'), peakUntilGone(flooder, 'flooder')]);
    expect(Math.max(...peaks)).toBeLessThan(quietMiB + boundMiB);
    expect(flooder.unread).toBeGreaterThan(frame.length);
    for (const stream of [greedy, flooder]) {
      expect(await stream.endAfterReading()).toMatchObject({ code: status.DEADLINE_EXCEEDED, reason: 'DEADLINE_PASSED' });
      stream.destroy();
    }
  });

  it('that never ends its inventory does no harm', async () => {
    const endless = new WorkStream(hostile, { group: 'endless' });
    endless.send(endless.hello);
    await endless.until('owns');
    const chunk = frameBytes({ inventory: { held: Array.from({ length: 1_000 }, (_, n) => ({ instance_id: newId(), attempt: n, finished: n % 2 === 0 })) } });
    for (let n = 0; n < 1_000; n++) endless.send(chunk);
    expect(await endless.stillServed()).toBeUndefined();
  });

  it('that opens 300 streams on two connections keeps none of them when it is gone', async () => {
    const second = new Caller(service.address);
    const streams = Array.from({ length: 300 }, (_, n) => new WorkStream(n % 2 === 0 ? hostile : second, { group: 'crowd', nodeId: `crowd-${n}` }));
    await Promise.all(streams.map((stream) => stream.join(1)));
    expect(await nodesOf('crowd')).toBe(300);
    for (const stream of streams) stream.cancel();
    await eventually(async () => (await nodesOf('crowd')) === 0, { what: 'all of them are gone' });
    second.close();
  });

  it('that says hello again and again with the same incarnation has one stream', async () => {
    const incarnation = newId();
    const streams: WorkStream[] = [];
    for (let n = 0; n < 100; n++) streams.push(await new WorkStream(hostile, { group: 'twins', incarnation }).join());
    await eventually(() => streams.filter((stream) => stream.end === undefined).length === 1);
    expect(streams[0]?.end).toMatchObject({ code: status.CANCELLED, reason: 'CANCELLED' });
    expect(await nodesOf('twins')).toBe(1);
  });
});

describe('a client', () => {
  it('that cancels in 10,000 groups that do not exist leaves nothing behind', async () => {
    for (let from = 0; from < 10_000; from += 500) {
      await Promise.all(Array.from({ length: 500 }, (_, n) => hostile.tell('JobService/CancelJob', { task_id: 'x', node_group: `nobody-${from + n}` })));
    }
    const { queues } = await caller.call<ListQueuesResponse__Output>('AdminService/ListQueues', {});
    expect(queues.filter((queue) => queue.node_group.startsWith('nobody-'))).toEqual([]);
  });

  it('that asks with 10,000 page tokens gets a page or a refusal for each', async () => {
    let refused = 0;
    for (let from = 0; from < 10_000; from += 500) {
      const told = await Promise.all(Array.from({ length: 500 }, (_, n) => hostile.tell('AdminService/ListInstances', { page_size: 1, page_token: n % 2 === 0 ? `${(from + n) * 7_919}` : `${n}x` })));
      for (const answer of told) if (answer.code !== 0) refused++;
      expect(told.every(({ code }) => code === status.OK || code === status.INVALID_ARGUMENT)).toBe(true);
    }
    expect(refused).toBe(5_000);
  });

  it.each([['100 keys of 1,000 bytes', 100, 1_000], ['one key of 100,000 bytes', 1, 100_000], ['2,000 keys of 50 bytes', 2_000, 50]])('that sends metadata of %s does no harm', async (_, keys, bytes) => {
    const metadata = new Metadata();
    for (let n = 0; n < keys; n++) metadata.set(`x-${n}`, 'm'.repeat(bytes));
    const told = await Promise.all(Array.from({ length: 50 }, () => hostile.tell('AdminService/ListNodes', {}, metadata)));
    expect(told.every(({ code }) => code === told[0]?.code)).toBe(true);
  });
});

describe('a connection', () => {
  const sockets: Socket[] = [];
  const port = (): number => Number(service.address.split(':')[1]);
  const open = (bytes: Buffer | string): Socket => {
    const socket = connect(port(), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.resume();
    socket.write(bytes);
    sockets.push(socket);
    return socket;
  };

  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
  const frame = (length: number, type: number, flags: number, stream: number, body = Buffer.alloc(0)): Buffer => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, body]);
  };

  /** Whether a GOAWAY frame is among these frames. */
  function hasGoAway(data: Buffer): boolean {
    for (let at = 0; at + 9 <= data.length; at += 9 + data.readUIntBE(at, 3)) if (data[at + 3] === 7) return true;
    return false;
  }

  it.each([
    ['no HTTP at all', Buffer.alloc(64_000, 0xff)],
    ['HTTP/1.1', 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['the hello of TLS', Buffer.from('16030100c8010000c40303', 'hex')],
    ['HTTP/2 with a frame of 16 MiB', Buffer.concat([Buffer.from(preface), frame(2 ** 24 - 1, 0, 0, 1)])],
    ['HTTP/2 with frames of unknown kinds on stream 0', Buffer.concat([Buffer.from(preface), frame(0, 4, 0, 0), ...Array.from({ length: 200 }, (_, n) => frame(4, n, 255, n % 3, Buffer.alloc(4, n)))])],
    ['HTTP/2 with headers that do not decode', Buffer.concat([Buffer.from(preface), frame(0, 4, 0, 0), frame(200, 1, 5, 1, Buffer.alloc(200, 0xee))])],
    ['HTTP/2 with data on a stream that is not open', Buffer.concat([Buffer.from(preface), frame(0, 4, 0, 0), frame(8, 0, 1, 7, Buffer.alloc(8))])],
  ])('that speaks %s is sent away', async (_, bytes) => {
    const socket = open(bytes);
    let goAway = false;
    socket.on('data', (data: Buffer) => (goAway ||= hasGoAway(data)));
    await eventually(() => goAway || socket.closed, { what: 'the connection is closed or told to go away' });
    expect(goAway || socket.closed).toBe(true);
  });

  it('that floods 20,000 pings and settings does no harm', async () => {
    const socket = open(Buffer.concat([Buffer.from(preface), frame(0, 4, 0, 0)]));
    const flood = Buffer.concat(Array.from({ length: 10_000 }, () => [frame(8, 6, 0, 0, Buffer.alloc(8)), frame(6, 4, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100]))]).flat());
    socket.write(flood);
    await expectTakesJobs(caller);
    expect(service.tracker.ended).toBeUndefined();
  });

  it('of which 500 stay idle does no harm', async () => {
    for (let n = 0; n < 500; n++) open(n % 2 === 0 ? 'PRI' : preface);
    await eventually(() => sockets.every((socket) => !socket.connecting));
    await expectTakesJobs(caller);
    expect(service.tracker.ended).toBeUndefined();
  });

  it('that opens and cancels 10,000 calls does no harm', async () => {
    let opened = 0;
    while (opened < 10_000) {
      const session = connectHttp2(`http://${service.address}`);
      session.on('error', () => undefined);
      for (let n = 0; n < 1_000 && !session.destroyed; n++, opened++) {
        const stream = session.request({ ':method': 'POST', ':path': n % 2 === 0 ? '/lts.v1.WorkerService/Work' : '/lts.v1.AdminService/ListInstances', 'content-type': 'application/grpc', te: 'trailers' });
        stream.on('error', () => undefined);
        stream.close(constants.NGHTTP2_CANCEL);
        if (n % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      session.destroy();
    }
    await expectTakesJobs(caller);
    expect(opened).toBe(10_000);
  });

  it.each([
    ['compressed bytes that are none', 'gzip', Buffer.from('no gzip')],
    ['1 GiB behind a megabyte', 'gzip', gzipSync(Buffer.alloc(64 * 1024 * 1024))],
    ['an encoding that nobody knows', 'zstd', Buffer.from('x')],
  ])('that sends %s gets a status', async (_, encoding, body) => {
    const session = connectHttp2(`http://${service.address}`);
    const stream = session.request({ ':method': 'POST', ':path': '/lts.v1.AdminService/ListNodes', 'content-type': 'application/grpc', te: 'trailers', 'grpc-encoding': encoding });
    const head = Buffer.alloc(5);
    head[0] = 1;
    head.writeUInt32BE(body.length, 1);
    let code: unknown;
    stream.on('response', (headers) => (code = headers['grpc-status'] ?? code));
    stream.on('trailers', (headers) => (code = headers['grpc-status'] ?? code));
    stream.on('error', () => undefined);
    stream.resume();
    stream.end(Buffer.concat([head, body]));
    await eventually(() => code, { what: 'a status' });
    expect(Number(code)).toBeGreaterThan(0);
    session.destroy();
  });
});

describe('a client that sends 4 MiB batches faster than the disk takes them', () => {
  it('is told to back off, and memory does not grow from round to round', async () => {
    const jobs = (n: number): object[] => Array.from({ length: 4 }, (_, k) => ({ task_id: `wide-${n}-${k}`, node_group: 'wide', payload: Buffer.alloc(1_000_000, 1) }));
    const resident: number[] = [];
    let refused = 0;
    for (let round = 0; round < 3; round++) {
      const told = await Promise.all(Array.from({ length: 60 }, (_, n) => hostile.tell('JobService/SubmitJobs', { jobs: jobs(round * 60 + n) })));
      for (const answer of told) {
        if (answer.code === 0) continue;
        refused++;
        expect(answer).toMatchObject({ code: status.RESOURCE_EXHAUSTED, reason: 'TOO_MANY_CALLS' });
      }
      resident.push(residentMiB(service.tracker.pid));
    }
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThan(180);
    expect(resident[2]).toBeLessThan((resident[0] ?? 0) + boundMiB);
    // What was on its way at once stays with the process; what counts is that it does not grow.
    quietMiB = Math.max(...resident);
  });
});
