import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Attempt__Output } from '../../../shared/grpc/generated/lts/v1/Attempt.js';
import type { GetInstanceResponse__Output } from '../../../shared/grpc/generated/lts/v1/GetInstanceResponse.js';
import type { Instance__Output } from '../../../shared/grpc/generated/lts/v1/Instance.js';
import type { ListAttemptsResponse__Output } from '../../../shared/grpc/generated/lts/v1/ListAttemptsResponse.js';
import type { ListLogsResponse__Output } from '../../../shared/grpc/generated/lts/v1/ListLogsResponse.js';
import type { SubmitJobResponse__Output } from '../../../shared/grpc/generated/lts/v1/SubmitJobResponse.js';
import type { WorkRequest } from '../../../shared/grpc/generated/lts/v1/WorkRequest.js';
import { newId } from '../../../shared/ids.js';
import { eventually } from '../../kit/eventually.js';
import { Caller } from '../caller.js';
import { startTracker, type LoneTracker } from '../tracker-and-gateway.js';
import { expectTakesJobs, expectUnhurt } from './health.js';
import { encodeLoose, framesOf, hostileMessages, unreadable } from './hostile-values.js';
import { WorkStream } from './work-stream.js';

let service: LoneTracker;
let caller: Caller;
/** A worker of another group that has done nothing wrong. */
let honest: WorkStream;
let honestRuns = 0;

beforeAll(async () => {
  service = await startTracker(['--ping-interval', '500ms', '--grace', '1s']);
  caller = new Caller(service.address);
  honest = await new WorkStream(caller, { group: 'honest', nodeId: 'honest' }).join(10_000);
});

afterAll(async () => {
  caller.close();
  await service.stop();
});

afterEach(async () => {
  await expectTakesJobs(caller);
  await runHonestJob();
  expectUnhurt(service.tracker);
});

async function submit(job: object): Promise<string> {
  const { result } = await caller.call<SubmitJobResponse__Output>('JobService/SubmitJob', { job });
  return result?.instance_id ?? '';
}

async function instance(id: string): Promise<Instance__Output> {
  return (await caller.call<GetInstanceResponse__Output>('AdminService/GetInstance', { instance_id: id })).instance as Instance__Output;
}

async function attempts(id: string): Promise<Attempt__Output[]> {
  return (await caller.call<ListAttemptsResponse__Output>('AdminService/ListAttempts', { instance_id: id })).attempts;
}

/** The others go on: a job of the honest worker's group runs to its end. */
async function runHonestJob(): Promise<void> {
  const id = await submit({ task_id: `honest-${honestRuns++}`, node_group: 'honest' });
  await eventually(() => honest.tasks.some((task) => task.instance_id === id), { what: 'the honest worker gets its task' });
  expect(await honest.report({ instance_id: id, attempt: 1, incarnation: honest.incarnation, outcome: 'ATTEMPT_OUTCOME_SUCCESS' })).toEqual([]);
}

const hello = (fields: object): WorkRequest => ({ hello: { node_id: 'rubbish', incarnation: newId(), node_group: 'rubbish', ...fields } });
const many = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

/** A frame of each kind that is in order after a Hello. */
const orderly: Record<string, object> = {
  hello: hello({}).hello as object,
  inventory: { held: [{ instance_id: newId(), attempt: 1 }] },
  slots: { granted: 1 },
  results: { sequence: 1, results: [{ instance_id: newId(), attempt: 1, incarnation: newId(), outcome: 1, message: 'x' }] },
  progress: { entries: [{ instance_id: newId(), attempt: 1, progress: 0.5, text: 'x' }] },
  logs: { sequence: 1, lines: [{ instance_id: newId(), attempt: 1, at: 1, text: 'x' }] },
  pong: { nonce: 1 },
  goodbye: {},
};

it('there is a frame of every kind of the contract', () => {
  expect(Object.keys(orderly).sort()).toEqual(framesOf('WorkRequest').sort());
});

describe('a worker is cut off with a reason', () => {
  const first: [string, WorkRequest | Buffer, RegExp][] = [
    ...unreadable.map(({ name, bytes }): [string, Buffer, RegExp] => [`bytes that are no frame: ${name}`, bytes, /first frame is unreadable/]),
    ['an empty frame', {}, /first frame is empty/],
    ['a frame of a kind from the future', Buffer.from([0xfa, 0x06, 0x00]), /first frame is empty/],
    ...Object.entries(orderly).filter(([kind]) => kind !== 'hello').map(([kind, frame]): [string, WorkRequest, RegExp] => [`${kind} before hello`, { [kind]: frame }, new RegExp(`first frame is ${kind}`)]),
    ['hello without node_id', hello({ node_id: '' }), /hello\.node_id is ""/],
    ['a node_id of 129 characters', hello({ node_id: 'n'.repeat(129) }), /hello\.node_id is/],
    ['a node_id with NUL', hello({ node_id: 'a\0b' }), /hello\.node_id is "a\\u0000b"/],
    ['hello without incarnation', hello({ incarnation: '' }), /hello\.incarnation is ""/],
    ['an incarnation that is a UUIDv4', hello({ incarnation: '0f8fad5b-d9cb-469f-a165-70867728950e' }), /hello\.incarnation is/],
    ['a group that is none', hello({ node_group: '../x' }), /hello\.node_group is "\.\.\/x"/],
    ['1,001 types', hello({ types: many(1_001, 't') }), /types/],
    ['a type of 129 characters', hello({ types: ['t'.repeat(129)] }), /hello\.types has/],
    ['1,001 predecessors', hello({ predecessors: many(1_001, newId()) }), /predecessors/],
    ['negative work_threads', hello({ work_threads: -1 }), /work_threads is -1/],
  ];

  it.each(first)('for %s', async (_, frame, says) => {
    const stream = new WorkStream(caller);
    stream.send(frame);
    expect(await stream.ended()).toMatchObject({ code: status.INVALID_ARGUMENT, reason: 'BAD_FRAME', details: expect.stringMatching(says) });
  });

  const later: [string, WorkRequest | Buffer, RegExp][] = [
    ...unreadable.map(({ name, bytes }): [string, Buffer, RegExp] => [`bytes that are no frame: ${name}`, bytes, /unreadable/]),
    ['an empty frame', {}, /empty/],
    ['a second hello', hello({}), /hello was sent twice/],
    ['1,001 held attempts in one frame', { inventory: { held: many(1_001, { instance_id: newId(), attempt: 1 }) } }, /inventory holds 1001/],
    ['negative slots', { slots: { granted: -1 } }, /slots\.granted is -1/],
    ['more slots than can be counted', { slots: { granted: 2 ** 60 } }, /slots\.granted is/],
    ['10,001 results in one frame', { results: { sequence: 1, results: many(10_001, { instance_id: newId() }) } }, /results holds 10001/],
  ];

  it('when it says nothing for 10 s', async () => {
    const stream = new WorkStream(caller);
    expect(await stream.ended(15_000)).toMatchObject({ code: status.INVALID_ARGUMENT, reason: 'BAD_FRAME', details: expect.stringMatching(/no hello/) });
  });

  it.each(later)('after it has joined: for %s', async (_, frame, says) => {
    const stream = await new WorkStream(caller).join();
    stream.send(frame);
    expect(await stream.ended()).toMatchObject({ code: status.INVALID_ARGUMENT, reason: 'BAD_FRAME', details: expect.stringMatching(says) });
  });

  it('for a frame of 5 MiB', async () => {
    const stream = await new WorkStream(caller).join();
    stream.send({ logs: { lines: [{ text: 'x'.repeat(5 * 1024 * 1024) }] } });
    expect(await stream.ended()).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  });

  it.each([['node', { nodeId: 'thief', group: 'honest' }], ['group', { nodeId: 'honest', group: 'rubbish' }]])('for the incarnation of a worker of another %s', async (_, other) => {
    const thief = new WorkStream(caller, { ...other, incarnation: honest.incarnation });
    thief.send(thief.hello);
    expect(await thief.ended()).toMatchObject({ code: status.INVALID_ARGUMENT, reason: 'BAD_FRAME', details: expect.stringContaining('another node or group') });
  });
});

it('every hostile value in every frame is ignored or cuts the stream off', async () => {
  let ignored = 0;
  let cut = 0;
  for (const [kind, frame] of Object.entries(orderly)) {
    for (const { name, bytes } of hostileMessages('WorkRequest', { [kind]: frame }, kind)) {
      const stream = new WorkStream(caller);
      if (kind === 'hello') stream.send(bytes);
      else (await stream.join()).send(bytes);
      const end = kind === 'goodbye' ? await stream.ended() : await stream.stillServed();
      if (end === undefined || end.code === 0) ignored++;
      else {
        cut++;
        expect({ name, ...end }).toMatchObject({ name, code: status.INVALID_ARGUMENT, reason: 'BAD_FRAME' });
      }
      stream.cancel();
    }
  }
  expect(ignored).toBeGreaterThan(50);
  expect(cut).toBeGreaterThan(10);
});

describe('results that nobody should send', () => {
  let worker: WorkStream;
  let id: string;
  let task = 0;

  const start = async (fields: object = {}): Promise<void> => {
    const group = `results-${task++}`;
    worker = await new WorkStream(caller, { group, nodeId: group }).join(5);
    id = await submit({ task_id: 'mine', node_group: group, ...fields });
    expect((await worker.task()).instance_id).toBe(id);
  };
  const result = (fields: object = {}): object => ({ instance_id: id, attempt: 1, incarnation: worker.incarnation, outcome: 'ATTEMPT_OUTCOME_SUCCESS', ...fields });
  const raw = (fields: object): Buffer => encodeLoose('WorkRequest', { results: { sequence: 77, results: [{ ...result(), outcome: 1, ...fields }] } });
  const sendRaw = async (fields: object): Promise<void> => {
    worker.send(raw(fields));
    await eventually(() => worker.received.some((frame) => frame.results_ack?.sequence === 77));
  };

  it('of unknown instances, attempts and incarnations are refused and change nothing', async () => {
    await start();
    expect(await worker.report(result({ instance_id: newId() }))).toEqual(['REFUSAL_REASON_UNKNOWN']);
    expect(await worker.report(result({ instance_id: '' }), result({ instance_id: 'x' }), result({ instance_id: '__proto__' }))).toEqual(many(3, 'REFUSAL_REASON_UNKNOWN'));
    for (const attempt of [0, -1, 2, 2 ** 31 - 1, -(2 ** 31)]) expect(await worker.report(result({ attempt }))).toEqual(['REFUSAL_REASON_UNKNOWN']);
    expect(await worker.report(result({ incarnation: newId() }))).toEqual(['REFUSAL_REASON_STALE']);
    expect(await instance(id)).toMatchObject({ state: 'INSTANCE_STATE_EXECUTING', attempt: 1 });
    expect(await worker.report(result({ message: 'the true one' }))).toEqual([]);
    expect(await instance(id)).toMatchObject({ state: 'INSTANCE_STATE_SUCCEEDED', message: 'the true one' });
  });

  it('of the attempt of another worker are refused and change nothing', async () => {
    await start();
    const sameGroup = await new WorkStream(caller, { group: worker.group, nodeId: 'thief' }).join();
    const otherGroup = await new WorkStream(caller, { group: 'rubbish', nodeId: worker.nodeId }).join();
    for (const thief of [sameGroup, otherGroup]) {
      expect(await thief.report(result({ outcome: 'ATTEMPT_OUTCOME_FAILED', message: 'stolen' }))).toEqual(['REFUSAL_REASON_UNKNOWN']);
      expect(await thief.report(result({ incarnation: thief.incarnation, message: 'stolen' }))).toEqual(['REFUSAL_REASON_STALE']);
    }
    expect((await instance(id)).state).toBe('INSTANCE_STATE_EXECUTING');
    expect(await worker.report(result())).toEqual([]);
    await Promise.all([sameGroup.goodbye(), otherGroup.goodbye()]);
    expect(await attempts(id)).toMatchObject([{ outcome: 'ATTEMPT_OUTCOME_SUCCESS', late_outcome: 'ATTEMPT_OUTCOME_UNSPECIFIED' }]);
  });

  it('of a worker that names another one as its predecessor lose it nothing', async () => {
    await start();
    const thief = new WorkStream(caller, { group: worker.group, nodeId: 'thief' });
    thief.send({ hello: { ...thief.hello.hello, predecessors: [worker.incarnation, honest.incarnation] } });
    await thief.until('owns');
    thief.send({ inventory: { end: true } });
    thief.send({ results: { sequence: 1, predecessors: [worker.incarnation], ended: [worker.incarnation] } });
    expect(await thief.stillServed()).toBeUndefined();
    expect(await worker.stillServed()).toBeUndefined();
    expect(await thief.report(result({ message: 'stolen' }))).toEqual(['REFUSAL_REASON_LOADING']);
    expect((await instance(id)).state).toBe('INSTANCE_STATE_EXECUTING');
    expect(await worker.report(result())).toEqual([]);
    await thief.goodbye();
  });

  it.each([
    ['LOST', { outcome: 6 }],
    ['no outcome', { outcome: 0 }],
    ['an outcome from the future', { outcome: 99 }],
    ['a negative outcome', { outcome: -1 }],
  ])('with %s count as an exception', async (_, fields) => {
    await start();
    await sendRaw(fields);
    expect(await instance(id)).toMatchObject({ state: 'INSTANCE_STATE_FAILED' });
    expect(await attempts(id)).toMatchObject([{ outcome: 'ATTEMPT_OUTCOME_EXCEPTION' }]);
  });

  it.each([
    ['the greatest times', { started_at: '9223372036854775807', ended_at: '9223372036854775807' }],
    ['negative times', { started_at: '-9223372036854775808', ended_at: -1 }],
    ['NUL in the message', { message: Buffer.from('a\0b') }],
    ['a message that is no UTF-8', { message: Buffer.from([0xff, 0xfe]) }],
  ])('with %s end the attempt all the same', async (_, fields) => {
    await start();
    await sendRaw(fields);
    expect(await instance(id)).toMatchObject({ state: 'INSTANCE_STATE_SUCCEEDED' });
    const [attempt] = await attempts(id);
    expect(attempt).toMatchObject({ outcome: 'ATTEMPT_OUTCOME_SUCCESS' });
    expect(attempt?.message).not.toContain('\0');
    expect(Number.isSafeInteger(attempt?.started_at)).toBe(true);
  });

  it('with 3 MiB of message are cut to 64 KiB', async () => {
    await start();
    expect(await worker.report(result({ message: '☃'.repeat(1024 * 1024) }))).toEqual([]);
    const [attempt] = await attempts(id);
    expect(Buffer.byteLength(attempt?.message ?? '')).toBeLessThanOrEqual(65_536);
    expect(attempt).toMatchObject({ truncated: true, message: expect.stringMatching(/^☃+… \[truncated\]$/) });
  });

  it.each([['the greatest', '9223372036854775807'], ['a negative', -1]])('that ask for a retry at %s time get one', async (_, retryAt) => {
    await start({ max_retry_times: 1, retry_policy: { law: 'RETRY_LAW_FIXED', delay: 3_600_000 } });
    await sendRaw({ outcome: 3, retry_at: retryAt });
    const { state, due_at: dueAt } = await instance(id);
    expect(state).toBe('INSTANCE_STATE_WAITING');
    expect(dueAt).toBeGreaterThan(Date.now());
    expect(dueAt).toBeLessThan(Date.now() + 367 * 86_400_000);
  });

  it('twice in one frame end the attempt once', async () => {
    await start();
    const refusals = await worker.report(result({ message: 'first' }), result({ outcome: 'ATTEMPT_OUTCOME_FAILED', message: 'second' }));
    expect(refusals).toHaveLength(1);
    expect(await instance(id)).toMatchObject({ state: 'INSTANCE_STATE_SUCCEEDED', message: 'first' });
  });

  it('beside progress and lines without sense do no harm', async () => {
    await start();
    worker.send(encodeLoose('WorkRequest', { progress: { entries: [{ instance_id: id, attempt: 1, progress: Number.NaN, text: 'x'.repeat(2_000) }, { instance_id: '__proto__', attempt: -1 }] } }));
    const lines = [{ instance_id: id, attempt: 1, at: '9223372036854775807', level: 99, text: Buffer.from('a\0b') }, { instance_id: id, attempt: 1, at: -5, level: -1, text: 'x'.repeat(100_000) }, { instance_id: newId(), text: 'of nobody' }];
    worker.send(encodeLoose('WorkRequest', { logs: { sequence: 5, lines } }));
    await eventually(() => worker.received.some((frame) => frame.logs_ack?.sequence === 5), { what: 'the ack of the lines' });
    expect(await worker.report(result())).toEqual([]);
    const shown = await caller.call<ListLogsResponse__Output>('AdminService/ListLogs', { instance_id: id });
    expect(shown.lines).toMatchObject([{ at: 0, level: 'LOG_LEVEL_INFO', text: 'a\uFFFDb' }, { at: 0, level: 'LOG_LEVEL_INFO', truncated: true }]);
    expect(shown.lines[1]?.text).toHaveLength(65_536);
  });
});

it('held attempts that the tracker does not know are to be stopped', async () => {
  const stream = new WorkStream(caller);
  stream.send(stream.hello);
  await stream.until('owns');
  const id = newId();
  stream.send({ inventory: { held: [{ instance_id: id, attempt: 7 }, { instance_id: 'x', attempt: -1 }], end: true } });
  expect((await stream.until('cancels')).attempts).toEqual(expect.arrayContaining([{ instance_id: id, attempt: 7 }]));
  expect(await stream.stillServed()).toBeUndefined();
  await stream.goodbye();
});
