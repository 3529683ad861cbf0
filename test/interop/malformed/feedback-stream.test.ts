import type { ClientDuplexStream, ServiceError, StatusObject } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JobResult__Output } from '../../../shared/grpc/generated/lts/v1/JobResult.js';
import type { ListFeedbackResponse__Output } from '../../../shared/grpc/generated/lts/v1/ListFeedbackResponse.js';
import type { WatchFeedbackRequest } from '../../../shared/grpc/generated/lts/v1/WatchFeedbackRequest.js';
import type { WatchFeedbackResponse__Output } from '../../../shared/grpc/generated/lts/v1/WatchFeedbackResponse.js';
import { newId } from '../../../shared/ids.js';
import { eventually } from '../../kit/eventually.js';
import { Caller, toldOf } from '../caller.js';
import { startTrackerAndGateway, type TrackerAndGateway } from '../tracker-and-gateway.js';
import { expectTakesJobs, expectUnhurt } from './health.js';
import { framesOf, hostileMessages, unreadable } from './hostile-values.js';
import { type StreamEnd, WorkStream } from './work-stream.js';

/** A feedback stream on which anything can be sent. */
class FeedbackStream {
  readonly results: JobResult__Output[] = [];
  frames = 0;
  readonly #call: ClientDuplexStream<object | Buffer, WatchFeedbackResponse__Output>;
  #end: StreamEnd | undefined;

  constructor(caller: Caller) {
    this.#call = caller.open<WatchFeedbackResponse__Output>('FeedbackService/WatchFeedback');
    this.#call.on('data', (frame: WatchFeedbackResponse__Output) => {
      this.frames++;
      this.results.push(...frame.results);
    });
    this.#call.on('error', (error: ServiceError) => (this.#end = toldOf(error)));
    this.#call.on('status', (told: StatusObject) => {
      if (told.code === 0) this.#end = { code: 0, reason: undefined, details: '' };
    });
  }

  send(frame: WatchFeedbackRequest | Buffer): void {
    if (this.#end === undefined) this.#call.write(frame);
  }

  /** Says hello and waits until it is known. */
  async join(group: string, maxInFlight = 100): Promise<this> {
    this.send({ hello: { submit_node_group: group, client_id: 'rubbish', max_in_flight: maxInFlight } });
    await eventually(() => this.frames > 0, { everyMs: 3, what: 'the receiver is known' });
    return this;
  }

  get end(): StreamEnd | undefined {
    return this.#end;
  }

  ended(): Promise<StreamEnd> {
    return eventually(() => this.#end, { everyMs: 3, what: 'the end of the stream' });
  }

  /** Ends its own half in good order; gives how the other half ended. */
  leave(): Promise<StreamEnd> {
    this.#call.end();
    return this.ended();
  }
}

const hello = (fields: object): WatchFeedbackRequest => ({ hello: { submit_node_group: 'rubbish', client_id: 'rubbish', ...fields } });
const orderly: Record<string, object> = {
  hello: hello({ max_in_flight: 10 }).hello as object,
  alive: { monotonic: 1_000 },
  ack: { feedback_ids: [newId()], failures: [{ feedback_id: newId(), message: 'x' }] },
};

let services: TrackerAndGateway;
const callers = {} as Record<'tracker' | 'gateway', Caller>;
let worker: WorkStream;
let made = 0;

beforeAll(async () => {
  services = await startTrackerAndGateway();
  callers.tracker = new Caller(services.trackerAddress);
  callers.gateway = new Caller(services.gatewayAddress);
  worker = await new WorkStream(callers.tracker, { group: 'owing', nodeId: 'owing' }).join(100_000);
});

afterAll(async () => {
  for (const caller of Object.values(callers)) caller.close();
  await services.stop();
});

afterEach(async () => {
  for (const caller of Object.values(callers)) await expectTakesJobs(caller);
  expectUnhurt(services.tracker);
  expectUnhurt(services.gateway);
});

/** Lets results be owed to a group: jobs of an honest worker that end. */
async function owe(group: string, count: number, message = 'done'): Promise<void> {
  const before = worker.tasks.length;
  const jobs = Array.from({ length: count }, () => ({ task_id: `owed-${made++}`, node_group: 'owing', need_feedback: true, submit_node_group: group }));
  await callers.tracker.call('JobService/SubmitJobs', { jobs });
  await eventually(() => worker.tasks.length === before + count, { what: 'the tasks' });
  for (const task of worker.tasks.slice(before)) {
    expect(await worker.report({ instance_id: task.instance_id, attempt: 1, incarnation: worker.incarnation, outcome: 'ATTEMPT_OUTCOME_SUCCESS', message })).toEqual([]);
  }
}

async function owedTo(group: string): Promise<number> {
  const { entries } = await callers.tracker.call<ListFeedbackResponse__Output>('AdminService/ListFeedback', { submit_node_group: group, page_size: 1_000 });
  return entries.length;
}

it('there is a frame of every kind of the contract', () => {
  expect(Object.keys(orderly).sort()).toEqual(framesOf('WatchFeedbackRequest').sort());
});

describe.each(['tracker', 'gateway'] as const)('a receiver at the %s', (kind) => {
  const cuts: [string, (WatchFeedbackRequest | Buffer)[]][] = [
    ...unreadable.map(({ name, bytes }): [string, Buffer[]] => [`bytes that are no frame: ${name}`, [bytes]]),
    ['an empty frame', [{}]],
    ['an ack before hello', [{ ack: { feedback_ids: [newId()] } }]],
    ['a second hello', [hello({}), hello({})]],
    ['an empty frame after hello', [hello({}), {}]],
    ['bytes that are no frame after hello', [hello({}), unreadable[0]?.bytes ?? Buffer.alloc(0)]],
    ['no group', [hello({ submit_node_group: '' })]],
    ['a group that is a path', [hello({ submit_node_group: '../x' })]],
    ['a group of 65 characters', [hello({ submit_node_group: 'g'.repeat(65) })]],
    ['a negative max_in_flight', [hello({ max_in_flight: -1 })]],
    ['a max_in_flight of 10,001', [hello({ max_in_flight: 10_001 })]],
  ];

  it.each(cuts)('is cut off for %s', async (_, frames) => {
    const stream = new FeedbackStream(callers[kind]);
    for (const frame of frames) stream.send(frame);
    expect(await stream.ended()).toMatchObject({ code: status.INVALID_ARGUMENT, reason: expect.stringMatching(/^(BAD_FRAME|INVALID_ARGUMENT)$/) });
  });

  it('with any hostile value in any frame is ignored or cut off', async () => {
    let seen = 0;
    for (const [frame, value] of Object.entries(orderly)) {
      for (const { name, bytes } of hostileMessages('WatchFeedbackRequest', { [frame]: value }, frame)) {
        const stream = new FeedbackStream(callers[kind]);
        if (frame === 'hello') stream.send(bytes);
        else (await stream.join('rubbish')).send(bytes);
        const end = await stream.leave();
        seen++;
        if (end.code !== 0) expect({ name, ...end }).toMatchObject({ name, code: status.INVALID_ARGUMENT, reason: expect.stringMatching(/^(BAD_FRAME|INVALID_ARGUMENT)$/) });
      }
    }
    expect(seen).toBeGreaterThan(40);
  });

  it('that is cut off takes no results with it', async () => {
    const group = `cut-${kind}`;
    const bad = await new FeedbackStream(callers[kind]).join(group);
    await owe(group, 5);
    await eventually(() => bad.results.length === 5, { what: 'the results' });
    bad.send(hello({}));
    bad.send(hello({ submit_node_group: group }));
    await bad.ended();
    const good = await new FeedbackStream(callers[kind]).join(group);
    await eventually(() => good.results.length === 5, { what: 'the results again' });
    expect(good.results.map((result) => result.feedback_id).sort()).toEqual(bad.results.map((result) => result.feedback_id).sort());
    good.send({ ack: { feedback_ids: good.results.map((result) => result.feedback_id) } });
    await eventually(async () => (await owedTo(group)) === 0, { what: 'nothing is owed any more' });
    await good.leave();
  });

  it('cannot ack what another one has, nor what nobody has', async () => {
    const group = `foreign-${kind}`;
    const owner = await new FeedbackStream(callers[kind]).join(group);
    await owe(group, 3);
    await eventually(() => owner.results.length === 3, { what: 'the results' });
    const ids = owner.results.map((result) => result.feedback_id);
    const thief = await new FeedbackStream(callers[kind]).join(group);
    const other = await new FeedbackStream(callers[kind]).join('rubbish');
    for (const stream of [thief, other]) {
      stream.send({ ack: { feedback_ids: [...ids, '', 'x', '__proto__', ...Array.from({ length: 20_000 }, () => newId())], failures: ids.map((id) => ({ feedback_id: id, message: 'stolen\0'.repeat(1_000) })) } });
      expect(await stream.leave()).toMatchObject({ code: status.OK });
    }
    expect(await owedTo(group)).toBe(3);
    owner.send({ ack: { feedback_ids: ids } });
    await eventually(async () => (await owedTo(group)) === 0, { what: 'nothing is owed any more' });
    await owner.leave();
  });

  it('that fails with a text without end is told again, and the text is cut', async () => {
    const group = `failing-${kind}`;
    const stream = await new FeedbackStream(callers[kind]).join(group);
    await owe(group, 1);
    await eventually(() => stream.results.length === 1, { what: 'the result' });
    const id = stream.results[0]?.feedback_id ?? '';
    stream.send({ ack: { failures: [{ feedback_id: id, message: `a\0${'😀'.repeat(100_000)}` }] } });
    await eventually(() => stream.results.length === 2, { withinMs: 15_000, what: 'the result again' });
    const { entries } = await callers.tracker.call<ListFeedbackResponse__Output>('AdminService/ListFeedback', { submit_node_group: group });
    expect(entries[0]?.last_error.length).toBeLessThanOrEqual(1_024);
    expect(entries[0]?.last_error).not.toContain('\0');
    stream.send({ ack: { feedback_ids: [id] } });
    await eventually(async () => (await owedTo(group)) === 0);
    await stream.leave();
  });

  it('gets 150 results of 64 KiB, though they do not fit into one frame', async () => {
    const group = `wide-${kind}`;
    await owe(group, 150, 'w'.repeat(65_536));
    const stream = await new FeedbackStream(callers[kind]).join(group, 1_000);
    await eventually(() => stream.results.length === 150 || stream.end, { withinMs: 20_000, what: 'all results' });
    expect(stream.end).toBeUndefined();
    stream.send({ ack: { feedback_ids: stream.results.map((result) => result.feedback_id) } });
    await eventually(async () => (await owedTo(group)) === 0, { what: 'nothing is owed any more' });
    await stream.leave();
  });
});
