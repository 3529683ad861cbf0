import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CallOptions, credentials, Metadata, status, type ServiceError } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LtsError } from '../../shared/errors/lts-error.js';
import { contract } from '../../shared/grpc/contract.js';
import type { Job } from '../../shared/grpc/generated/lts/v1/Job.js';
import type { GetScheduleResponse__Output } from '../../shared/grpc/generated/lts/v1/GetScheduleResponse.js';
import type { ListEntriesResponse__Output } from '../../shared/grpc/generated/lts/v1/ListEntriesResponse.js';
import type { ListInstancesResponse__Output } from '../../shared/grpc/generated/lts/v1/ListInstancesResponse.js';
import type { SubmitJobResponse__Output } from '../../shared/grpc/generated/lts/v1/SubmitJobResponse.js';
import type { SubmitJobsResponse__Output } from '../../shared/grpc/generated/lts/v1/SubmitJobsResponse.js';
import type { WatchFeedbackResponse__Output } from '../../shared/grpc/generated/lts/v1/WatchFeedbackResponse.js';
import { clientOptions } from '../../shared/grpc/options.js';
import { isId, newId } from '../../shared/ids.js';
import { silentLogger } from '../../shared/log/logger.js';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../../test/kit/eventually.js';
import { freePort } from '../../test/kit/ports.js';
import { type RunningJobClient, startJobClient } from './app.js';
import { FakeTracker } from './fake-tracker.js';

const trackers: FakeTracker[] = [];
const gateways: RunningJobClient[] = [];
const closing: { close(): void }[] = [];
let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gateway-'));
});

afterEach(async () => {
  for (const client of closing.splice(0)) client.close();
  await Promise.all(gateways.splice(0).map((gateway) => gateway.drain()));
  for (const tracker of trackers.splice(0)) tracker.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function startTracker(port = 0): Promise<FakeTracker> {
  const tracker = await new FakeTracker().start(port);
  tracker.showOwner(1, tracker.address);
  trackers.push(tracker);
  return tracker;
}

async function startGateway(...ports: number[]): Promise<RunningJobClient> {
  const gateway = await startJobClient({
    listen: { host: '127.0.0.1', port: 0 },
    advertise: undefined,
    trackers: ports.map((port) => ({ host: '127.0.0.1', port })),
    zookeeper: undefined,
    cluster: 'default',
    nodeId: 'gw-1',
    dataDir,
    failStoreSize: 1024 * 1024,
    submitTimeout: 400,
    reflection: undefined,
    insecure: false,
  }, { log: silentLogger });
  gateways.push(gateway);
  return gateway;
}

function portOf(address: string): number {
  return Number(address.split(':')[1]);
}

function clientsOf(address: string): { job: InstanceType<typeof contract.JobService>; admin: InstanceType<typeof contract.AdminService>; failStore: InstanceType<typeof contract.FailStoreService>; feedback: InstanceType<typeof contract.FeedbackService>; schedule: InstanceType<typeof contract.ScheduleService> } {
  const insecure = credentials.createInsecure();
  const clients = {
    job: new contract.JobService(address, insecure, clientOptions),
    admin: new contract.AdminService(address, insecure, clientOptions),
    failStore: new contract.FailStoreService(address, insecure, clientOptions),
    feedback: new contract.FeedbackService(address, insecure, clientOptions),
    schedule: new contract.ScheduleService(address, insecure, clientOptions),
  };
  closing.push(...Object.values(clients));
  return clients;
}

function call<Res>(send: (options: CallOptions, answer: (error: ServiceError | null, response?: Res) => void) => unknown): Promise<Res> {
  return new Promise((resolve, reject) => {
    send({ deadline: systemClock.now() + 5_000 }, (error, response) => (error === null ? resolve(response as Res) : reject(error)));
  });
}

async function refusal(work: Promise<unknown>): Promise<{ code: status; reason: string; details: string }> {
  const error = (await work.then(() => undefined, (thrown: unknown) => thrown)) as ServiceError | undefined;
  if (error?.metadata instanceof Metadata) return { code: error.code, reason: String(error.metadata.get('lts-reason')[0]), details: error.details };
  throw new Error('not refused', { cause: error });
}

const least = { task_id: 't', node_group: 'g' };

describe('the gateway', () => {
  it('submits for applications that send no id, and gives each job its outcome', async () => {
    const tracker = await startTracker();
    const { job } = clientsOf((await startGateway(portOf(tracker.address))).address);
    const one = await call<SubmitJobResponse__Output>((options, answer) => job.submitJob({ job: least }, options, answer));
    expect(one.result?.outcome).toBe('SUBMIT_OUTCOME_ACCEPTED');
    expect(isId(one.result?.instance_id ?? '')).toBe(true);
    expect(tracker.jobs[0]?.instance_id).toBe(one.result?.instance_id);
    const id = newId();
    const jobs = [{ ...least, instance_id: id }, { ...least, task_id: '' }];
    const many = await call<SubmitJobsResponse__Output>((options, answer) => job.submitJobs({ jobs }, options, answer));
    expect(many.results).toMatchObject([{ instance_id: id, outcome: 'SUBMIT_OUTCOME_ACCEPTED' }, { outcome: 'SUBMIT_OUTCOME_REJECTED', reason: 'INVALID_ARGUMENT', code: 3 }]);
  });

  it('answers refusals of one job as errors of the call', async () => {
    const tracker = await startTracker();
    const { job } = clientsOf((await startGateway(portOf(tracker.address))).address);
    const submit = (value: Job): Promise<object> => refusal(call((options, answer) => job.submitJob({ job: value }, options, answer)));
    expect(await submit({ ...least, max_retry_times: 5_000 })).toEqual({ code: status.INVALID_ARGUMENT, reason: 'INVALID_ARGUMENT', details: expect.stringContaining('5000') as string });
    expect(await refusal(call((options, answer) => job.submitJob({}, options, answer)))).toMatchObject({ code: status.INVALID_ARGUMENT, reason: 'INVALID_ARGUMENT' });
    expect(await refusal(call((options, answer) => job.submitJobs({ jobs: [] }, options, answer)))).toMatchObject({ code: status.INVALID_ARGUMENT, reason: 'INVALID_ARGUMENT' });
    const tooMany = Array.from({ length: 1_001 }, () => least);
    expect(await refusal(call((options, answer) => job.submitJobs({ jobs: tooMany }, options, answer)))).toMatchObject({ code: status.INVALID_ARGUMENT, reason: 'INVALID_ARGUMENT' });
    tracker.onJob = ({ instance_id }) => ({ instance_id, outcome: 'SUBMIT_OUTCOME_REJECTED', reason: 'BACKLOG_FULL', message: 'full', code: 8 });
    expect(await submit(least)).toEqual({ code: status.RESOURCE_EXHAUSTED, reason: 'BACKLOG_FULL', details: 'full' });
    expect(await refusal(call((options, answer) => job.cancelJob({ task_id: 't' }, options, answer)))).toMatchObject({ code: status.INVALID_ARGUMENT, reason: 'INVALID_ARGUMENT' });
    tracker.onCancel = () => {
      throw new LtsError('INSTANCE_NOT_FOUND', 'none');
    };
    expect(await refusal(call((options, answer) => job.cancelJob(least, options, answer)))).toMatchObject({ code: status.NOT_FOUND, reason: 'INSTANCE_NOT_FOUND' });
  });

  it('stores while no tracker is there, shows it, and sends it later; what is refused for good can be resent', async () => {
    const port = await freePort();
    const { job, failStore } = clientsOf((await startGateway(port)).address);
    const list = (): Promise<ListEntriesResponse__Output> => call((options, answer) => failStore.listEntries({}, options, answer));
    const submit = (task: string): Promise<SubmitJobResponse__Output> =>
      call((options, answer) => job.submitJob({ job: { ...least, task_id: task } }, options, answer));
    const first = await submit('a');
    expect(first.result?.outcome).toBe('SUBMIT_OUTCOME_STORED_LOCALLY');
    const second = await submit('b');
    await call((options, answer) => job.cancelJob({ instance_id: first.result?.instance_id ?? '', node_group: 'g' }, options, answer));
    const stored = await list();
    expect(stored.total).toBe(3);
    expect(stored.entries).toMatchObject([
      { kind: 'SUBMIT', task_id: 'a', node_group: 'g', instance_id: first.result?.instance_id, dead: false },
      { kind: 'SUBMIT', task_id: 'b', instance_id: second.result?.instance_id },
      { kind: 'CANCEL', task_id: 'a', instance_id: first.result?.instance_id },
    ]);
    const tracker = new FakeTracker();
    trackers.push(tracker);
    tracker.onJob = ({ instance_id, task_id }) =>
      task_id === 'b' ? { instance_id, outcome: 'SUBMIT_OUTCOME_REJECTED', reason: 'INVALID_ARGUMENT', message: 'no such thing', code: 3 } : undefined;
    await tracker.start(port);
    tracker.showOwner(1, tracker.address);
    const dead = await eventually(async () => {
      const { entries } = await list();
      return entries.length === 1 && entries[0]?.dead === true ? entries[0] : undefined;
    });
    expect(dead).toMatchObject({ task_id: 'b', last_error: 'INVALID_ARGUMENT: no such thing' });
    expect(tracker.cancels.map((request) => request.instance_id)).toEqual([first.result?.instance_id]);
    tracker.onJob = () => undefined;
    expect(await call((options, answer) => failStore.resendEntries({ entry_ids: [dead.entry_id] }, options, answer))).toEqual({ resent: 1 });
    await eventually(async () => (await list()).total === 0);
    expect(tracker.jobs.filter(({ task_id }) => task_id === 'b').map((sent) => sent.instance_id)).toContain(second.result?.instance_id);
  });

  it('passes status calls on as they are, with their errors', async () => {
    const tracker = await startTracker();
    const gateway = await startGateway(portOf(tracker.address));
    const { admin } = clientsOf(gateway.address);
    tracker.instances = [{ instance_id: 'x', job: least, state: 'INSTANCE_STATE_READY', progress: 0.5 }];
    const response = await call<ListInstancesResponse__Output>((options, answer) => admin.listInstances(least, options, answer));
    expect(response.instances).toMatchObject([{ instance_id: 'x', state: 'INSTANCE_STATE_READY', progress: 0.5 }]);
    expect(await refusal(call((options, answer) => admin.getCluster({}, options, answer)))).toMatchObject({ code: status.UNIMPLEMENTED, reason: 'UNSUPPORTED' });
    tracker.stop();
    const patient = (options: CallOptions): CallOptions => ({ ...options, deadline: systemClock.now() + 10_000 });
    expect(await refusal(call((options, answer) => admin.listInstances(least, patient(options), answer)))).toMatchObject({ code: status.UNAVAILABLE, reason: 'NO_TRACKER' });
  });

  it('passes calls for schedules on, a trigger with an id of its own', async () => {
    const tracker = await startTracker();
    const { schedule } = clientsOf((await startGateway(portOf(tracker.address))).address);
    tracker.onSchedule = (method) => {
      if (method === 'SuspendSchedule') throw new LtsError('NOT_FOUND', 'there is no schedule t');
      return { instance_id: 'run', schedule: { schedule_id: 's' } };
    };
    expect(await call<GetScheduleResponse__Output>((options, answer) => schedule.getSchedule(least, options, answer))).toMatchObject({ schedule: { schedule_id: 's' } });
    expect(await refusal(call((options, answer) => schedule.suspendSchedule(least, options, answer)))).toEqual({ code: status.NOT_FOUND, reason: 'NOT_FOUND', details: 'there is no schedule t' });
    const id = newId();
    await call((options, answer) => schedule.triggerSchedule({ ...least, ext_params: { k: 'v' } }, options, answer));
    await call((options, answer) => schedule.triggerSchedule({ ...least, instance_id: id }, options, answer));
    const triggers = tracker.scheduleCalls.filter(({ method }) => method === 'TriggerSchedule').map(({ request }) => request);
    expect(triggers).toMatchObject([{ ...least, ext_params: { k: 'v' }, instance_id: expect.stringMatching(/^[0-9a-f-]{36}$/) }, { ...least, instance_id: id }]);
  });

  it('relays results to an application and its acks back, within what it asked for', async () => {
    const tracker = await startTracker();
    const { feedback } = clientsOf((await startGateway(portOf(tracker.address))).address);
    const stream = feedback.watchFeedback();
    const got: WatchFeedbackResponse__Output[] = [];
    stream.on('data', (frame: WatchFeedbackResponse__Output) => got.push(frame));
    stream.on('error', () => undefined);
    stream.write({ hello: { submit_node_group: 'shop', client_id: 'app', max_in_flight: 2 } });
    await eventually(() => got.length === 1);
    expect(got[0]?.results).toEqual([]);
    const ids = [newId(), newId(), newId()];
    for (const receiver of tracker.receivers) receiver.write({ results: ids.map((id) => ({ feedback_id: id, message: 'm' })) });
    const received = (): string[] => got.flatMap(({ results }) => results.map((result) => result.feedback_id));
    await eventually(() => received().length === 2);
    stream.write({ ack: { feedback_ids: [ids[0] ?? ''], failures: [{ feedback_id: ids[1] ?? '', message: 'later' }] } });
    await eventually(() => received().length === 3);
    expect(received()).toEqual(ids);
    const acks = (): object[] => tracker.frames.flatMap(({ ack }) => ack ?? []);
    await eventually(() => acks().length > 0);
    expect(acks()).toEqual([{ feedback_ids: [ids[0]], failures: [{ feedback_id: ids[1], message: 'later' }] }]);
    stream.cancel();
    await eventually(() => tracker.receivers.size === 0);
  });

  it('ends the stream of an application that leaves when the tracker has stored its acks', async () => {
    const tracker = await startTracker();
    const steps: string[] = [];
    tracker.onLeave = async () => {
      // An end that the gateway had written by now would come before this answer.
      await call<SubmitJobResponse__Output>((options, answer) => job.submitJob({ job: least }, options, answer));
      steps.push('stored');
    };
    const { feedback, job } = clientsOf((await startGateway(portOf(tracker.address))).address);
    const stream = feedback.watchFeedback();
    const got: string[] = [];
    stream.on('data', ({ results }: WatchFeedbackResponse__Output) => got.push(...results.map((result) => result.feedback_id)));
    stream.on('error', (error) => steps.push(error.message));
    stream.on('end', () => steps.push('ended'));
    stream.write({ hello: { submit_node_group: 'shop', client_id: 'app' } });
    await eventually(() => tracker.receivers.size === 1);
    for (const receiver of tracker.receivers) receiver.write({ results: [{ feedback_id: 'one' }] });
    await eventually(() => got.length === 1);
    stream.write({ ack: { feedback_ids: got } });
    stream.end();
    await eventually(() => steps.length === 2);
    expect(steps).toEqual(['stored', 'ended']);
    expect(tracker.frames.flatMap(({ ack }) => ack?.feedback_ids ?? [])).toEqual(['one']);
  });

  it('passes on who the master of the group is, and what the receiver takes itself for', async () => {
    const tracker = await startTracker();
    const gateway = await startGateway(portOf(tracker.address));
    const feedback = new contract.FeedbackService(gateway.address, credentials.createInsecure(), clientOptions);
    closing.push(feedback);
    const stream = feedback.watchFeedback();
    const masters: unknown[] = [];
    stream.on('data', ({ master }: WatchFeedbackResponse__Output) => master && masters.push(master));
    stream.on('error', () => undefined);
    stream.write({ hello: { submit_node_group: 'shop', client_id: 'app', master_token: 7 } });
    await eventually(() => tracker.frames.length === 1);
    expect(tracker.frames[0]?.hello).toMatchObject({ client_id: 'app', master_token: 7 });
    const said = { self: true, node_id: 'app', token: 9, lease: 60_000, heard: 0 };
    for (const receiver of tracker.receivers) receiver.write({ results: [], master: said });
    await eventually(() => masters.length === 1);
    expect(masters).toEqual([said]);
    for (const receiver of tracker.receivers) receiver.end();
    await eventually(() => tracker.frames.filter(({ hello }) => hello).length === 2);
    expect(tracker.frames.at(-1)?.hello?.master_token).toBe(9);
    stream.cancel();
  });

  it('brings the time of the application to the tracker, and counts its lease from when that came', async () => {
    const tracker = await startTracker();
    const gateway = await startGateway(portOf(tracker.address));
    const feedback = new contract.FeedbackService(gateway.address, credentials.createInsecure(), clientOptions);
    closing.push(feedback);
    const stream = feedback.watchFeedback();
    const heard: number[] = [];
    stream.on('data', ({ master }: WatchFeedbackResponse__Output) => master && heard.push(master.heard));
    stream.on('error', () => undefined);
    const hellos = () => tracker.frames.flatMap(({ hello }) => hello ?? []);
    const alive = (): number[] => tracker.frames.flatMap((frame) => frame.alive?.monotonic ?? []);
    const claims = (): number[] => tracker.frames.flatMap(({ alive: said }) => said?.master_token ?? []);
    const say = (time: number, token: number): void => {
      for (const receiver of tracker.receivers) receiver.write({ results: [], master: { self: true, node_id: 'app', token, lease: 60_000, heard: time } });
    };
    const reconnect = async (): Promise<number | undefined> => {
      const before = hellos().length;
      for (const receiver of tracker.receivers) receiver.end();
      await eventually(() => hellos().length > before);
      return hellos().at(-1)?.master_token;
    };
    stream.write({ hello: { submit_node_group: 'shop', client_id: 'app', monotonic: 500_000_000, master_token: 5 } });
    await eventually(() => hellos().length === 1);
    expect(hellos()[0]).toMatchObject({ monotonic: 500_000_000, master_token: 5 });
    // A time that nobody here remembers holds nothing.
    say(1, 8);
    await eventually(() => heard.length === 1);
    expect(await reconnect()).toBe(5);
    // What it was before it came here is no answer to who is master now.
    expect(claims()).toEqual([0]);
    say(500_000_000, 9);
    await eventually(() => alive().at(-1) === 500_000_000);
    stream.write({ alive: { monotonic: 500_000_100 } });
    await eventually(() => {
      say(500_000_000, 9);
      return alive().includes(500_000_100);
    });
    expect(heard.slice(1).every((time) => time === 500_000_000)).toBe(true);
    expect(claims().at(-1)).toBe(9);
    expect(await reconnect()).toBe(9);
    expect(hellos().at(-1)?.monotonic).toBe(500_000_100);
    stream.cancel();
  });

  it.each([
    ['an ack before the hello', { ack: { feedback_ids: ['x'] } }, 'BAD_FRAME'],
    ['an empty frame', {}, 'BAD_FRAME'],
    ['a bad group', { hello: { submit_node_group: 'a b' } }, 'INVALID_ARGUMENT'],
    ['too many in flight', { hello: { submit_node_group: 'a', max_in_flight: 10_001 } }, 'INVALID_ARGUMENT'],
  ])('cuts a receiver off for %s', async (_name, frame, reason) => {
    const { feedback } = clientsOf((await startGateway(await freePort())).address);
    const stream = feedback.watchFeedback();
    stream.on('data', () => undefined);
    const ended = new Promise<ServiceError>((resolve) => stream.on('error', (error) => resolve(error as ServiceError)));
    stream.write(frame);
    const error = await ended;
    expect(error.code).toBe(status.INVALID_ARGUMENT);
    expect(error.metadata.get('lts-reason')).toEqual([reason]);
  });

  it('leaves in order: answers what it has, refuses what comes', async () => {
    const tracker = await startTracker();
    const gateway = await startGateway(portOf(tracker.address));
    const { job } = clientsOf(gateway.address);
    let release: () => void = () => undefined;
    tracker.onCall = () => new Promise((resolve) => {
      release = resolve;
    });
    const first = call<SubmitJobResponse__Output>((options, answer) => job.submitJob({ job: least }, options, answer));
    await eventually(() => tracker.calls.length === 1);
    const drained = gateway.drain();
    expect(await refusal(call((options, answer) => job.submitJob({ job: least }, options, answer)))).toMatchObject({ code: status.UNAVAILABLE, reason: 'DRAINING' });
    release();
    expect((await first).result?.outcome).toBe('SUBMIT_OUTCOME_ACCEPTED');
    await drained;
    gateways.length = 0;
  });
});
