import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { reasons } from '../../../shared/errors/reasons.js';
import type { ListQueuesResponse__Output } from '../../../shared/grpc/generated/lts/v1/ListQueuesResponse.js';
import type { SubmitJobResponse__Output } from '../../../shared/grpc/generated/lts/v1/SubmitJobResponse.js';
import type { SubmitJobsResponse__Output } from '../../../shared/grpc/generated/lts/v1/SubmitJobsResponse.js';
import { eventually } from '../../kit/eventually.js';
import { Caller, rpcs, type Told } from '../caller.js';
import { startTrackerAndGateway, type TrackerAndGateway } from '../tracker-and-gateway.js';
import { expectTakesJobs, expectUnhurt } from './health.js';
import { damagedMessages, encodeLoose, hostileMessages, unreadable } from './hostile-values.js';
import { requestRpcs, type RequestRpc, worker } from './request-cases.js';
import { WorkStream } from './work-stream.js';

/** Who serves what. */
const served = {
  tracker: ['JobService', 'ScheduleService', 'AdminService', 'ClusterService'],
  gateway: ['JobService', 'ScheduleService', 'AdminService', 'FailStoreService'],
};

let services: TrackerAndGateway;
const callers = {} as Record<keyof typeof served, Caller>;
let known = '';

beforeAll(async () => {
  services = await startTrackerAndGateway();
  callers.tracker = new Caller(services.trackerAddress);
  callers.gateway = new Caller(services.gatewayAddress);
  const { result } = await callers.tracker.call<SubmitJobResponse__Output>('JobService/SubmitJob', { job: { task_id: 'known', node_group: 'hostile' } });
  known = result?.instance_id ?? '';
  await new WorkStream(callers.tracker, { nodeId: worker, group: 'drainable' }).join();
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

/** A job, and one of each kind of schedule, of which none fires meanwhile. */
const ground = { task_id: 'in-a-batch', node_group: 'hostile' };
const grounds = [
  ground,
  { ...ground, cron_expression: '0 0 1 1 *', misfire_policy: {}, blocking_policy: {} },
  { ...ground, repeat_interval: 60_000, repeat_count: 3, trigger_time: 4_000_000_000_000 },
  { ...ground, repeat_interval: 60_000, start_time: 4_000_000_000_000, daily_window: { from: '09:00', to: '10:00', weekdays: [1] } },
];

const tell = (caller: Caller, rpc: string, bytes: Buffer): Promise<Told<object>> =>
  rpcs.get(rpc)?.responseStream ? caller.firstOf(rpc, bytes) : caller.tell(rpc, bytes);

/** Whatever is sent: an answer, or a refusal with its reason. Never an internal error, a time-out or a text without end. */
function expectOrderly(name: string, told: Told<object>): void {
  if (told.code === 0) return;
  const { code, reason, details } = told as Exclude<Told<object>, { code: 0; answer: object }>;
  expect({ name, code, reason }).toEqual({ name, code: expect.toBeOneOf([status.INVALID_ARGUMENT, status.NOT_FOUND]), reason: expect.toBeOneOf(Object.keys(reasons)) });
  expect({ name, tooLong: details.length > 1_100 }).toEqual({ name, tooLong: false });
}

it('there is a case for every RPC of the contract', () => {
  const withOneRequest = [...rpcs].filter(([, method]) => !method.requestStream).map(([name]) => name);
  expect(Object.keys(requestRpcs).sort()).toEqual(withOneRequest.sort());
  const reached = new Set(Object.values(served).flat());
  expect(withOneRequest.filter((name) => !reached.has(name.split('/')[0] as string))).toEqual([]);
});

describe.each(Object.keys(served) as (keyof typeof served)[])('the %s', (kind) => {
  const here = Object.entries(requestRpcs).filter(([name]) => served[kind].includes(name.split('/')[0] as string));

  describe.each(here)('%s', (rpc: string, { type, valid, cases, needs }: RequestRpc) => {
    beforeEach(() => (needs === undefined ? undefined : callers[kind].call('JobService/SubmitJob', { job: needs })));

    it('takes or refuses with code, reason and what was wrong', async () => {
      for (const { name, request, code, reason, says } of cases) {
        const told = await tell(callers[kind], rpc, rpcs.get(rpc)?.requestSerialize(request) as Buffer);
        expect({ name, ...told }).toMatchObject({ name, code, ...(reason === undefined ? {} : { reason }), ...(says === undefined ? {} : { details: expect.stringMatching(says) }) });
      }
    });

    it('takes or refuses every hostile value in every field, and every damage', async () => {
      const hostile = [...hostileMessages(type, valid(known)), ...damagedMessages(type, valid(known))];
      for (const { name, bytes } of hostile) expectOrderly(name, await tell(callers[kind], rpc, bytes));
      if (needs !== undefined) await callers[kind].call('JobService/SubmitJob', { job: needs });
      expect((await tell(callers[kind], rpc, encodeLoose(type, valid(known)))).code).toBe(status.OK);
    });

    it('refuses what is no message of its type', async () => {
      for (const { name, bytes } of unreadable) {
        expect({ name, ...(await tell(callers[kind], rpc, bytes)) }).toMatchObject({ name, code: status.INVALID_ARGUMENT, reason: 'INVALID_ARGUMENT', details: expect.stringContaining('proto/lts/v1') });
      }
    });

    it('refuses 5 MiB', async () => {
      const unknownField = Buffer.concat([Buffer.from([0xfa, 0x3f, 0x80, 0x80, 0xc0, 0x02]), Buffer.alloc(5 * 1024 * 1024)]);
      expect(await tell(callers[kind], rpc, unknownField)).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    });
  });

  it('refuses the bad ones of a batch and takes the good ones', async () => {
    const jobs = grounds.flatMap((ground) => hostileMessages('Job', ground));
    const good = (n: number): Buffer => encodeLoose('Job', { task_id: `good-in-batch-${n}`, node_group: 'hostile' });
    for (let from = 0; from < jobs.length; from += 20) {
      const bytes = jobs.slice(from, from + 20).flatMap((each, n) => [each.bytes, good(from + n)]);
      const told = await callers[kind].tell<SubmitJobsResponse__Output>('JobService/SubmitJobs', Buffer.concat(bytes.map(asJobsEntry)));
      if (told.code !== 0 || !('answer' in told)) throw new Error(`the batch was refused: ${JSON.stringify(told)}`);
      const { results } = told.answer;
      expect(results.length).toBe(bytes.length);
      expect(results.filter((_, n) => n % 2 === 1).every(({ code }) => code === 0)).toBe(true);
      for (const { code } of results) expect([status.OK, status.INVALID_ARGUMENT]).toContain(code);
    }
  });

  it('shows all that was accepted, page by page', async () => {
    let token = '';
    let seen = 0;
    do {
      const page = await callers[kind].call<{ instances: object[]; next_page_token: string }>('AdminService/ListInstances', { page_size: 1_000, page_token: token });
      seen += page.instances.length;
      token = page.next_page_token;
    } while (token !== '');
    expect(seen).toBeGreaterThan(1_000);
  });
});

it('all that was accepted can be run', async () => {
  const worker = await new WorkStream(callers.tracker, { group: 'hostile', nodeId: 'honest' }).join(1_000_000);
  const done = new Set<string>();
  await eventually(async () => {
    const fresh = worker.tasks.filter(({ instance_id: id }) => !done.has(id));
    for (const { instance_id: id } of fresh) done.add(id);
    if (fresh.length > 0) expect(await worker.report(...fresh.map(({ instance_id: id, attempt }) => ({ instance_id: id, attempt, incarnation: worker.incarnation, outcome: 'ATTEMPT_OUTCOME_SUCCESS' })))).toEqual([]);
    const { queues } = await callers.tracker.call<ListQueuesResponse__Output>('AdminService/ListQueues', { node_group: 'hostile' });
    return queues[0]?.ready === 0 && queues[0].executing === 0 && worker.tasks.length === done.size;
  }, { withinMs: 20_000, everyMs: 20, what: 'nothing is ready or runs any more' });
  expect(done.size).toBeGreaterThan(1_000);
  await worker.goodbye();
});

/** Field 1 of SubmitJobsRequest around the bytes of a job. */
function asJobsEntry(job: Buffer): Buffer {
  const length: number[] = [];
  for (let left = job.length; ; left >>>= 7) {
    if (left < 128) {
      length.push(left);
      return Buffer.concat([Buffer.from([0x0a, ...length]), job]);
    }
    length.push((left & 127) | 128);
  }
}
