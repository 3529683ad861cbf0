import { randomFillSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LtsError } from '../../shared/errors/lts-error.js';
import { idMaker, newId, timeOfId } from '../../shared/ids.js';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../../test/kit/eventually.js';
import { freePort } from '../../test/kit/ports.js';
import { FakeTracker } from './fake-tracker.js';
import { JobClient, type JobClientOptions } from './job-client.js';
import type { NewJob } from './submit/new-job.js';

const trackers: FakeTracker[] = [];
const clients: JobClient[] = [];
let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'job-client-'));
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  for (const tracker of trackers.splice(0)) tracker.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function startTracker(port = 0): Promise<FakeTracker> {
  const tracker = await new FakeTracker().start(port);
  tracker.showOwner(1, tracker.address);
  trackers.push(tracker);
  return tracker;
}

function connect(options: JobClientOptions): JobClient {
  const client = new JobClient({ submitTimeout: 500, ...options });
  clients.push(client);
  return client;
}

function job(task: string, more: Partial<NewJob> = {}): NewJob {
  return { task_id: task, node_group: 'g', ...more };
}

async function errorOf(work: Promise<unknown>): Promise<LtsError> {
  const error = await work.then(() => undefined, (thrown: unknown) => thrown);
  if (error instanceof LtsError) return error;
  throw new Error('not refused', { cause: error });
}

/** Holds calls back until it is opened. */
class Gate {
  readonly opened: Promise<void>;
  open: () => void = () => undefined;

  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}

describe('submit', () => {
  it('resolves with the outcome, with an id of its own making', async () => {
    const tracker = await startTracker();
    const client = connect({ trackers: [tracker.address] });
    const before = systemClock.now();
    const result = await client.submit(job('a', { payload: 'hello', ext_params: { k: 'v' } }));
    expect(result.outcome).toBe('SUBMIT_OUTCOME_ACCEPTED');
    expect(timeOfId(result.instance_id ?? '')).toBeGreaterThanOrEqual(before);
    expect(tracker.late.size).toBe(0);
    expect(tracker.jobs).toMatchObject([{ task_id: 'a', node_group: 'g', instance_id: result.instance_id, ext_params: { k: 'v' } }]);
    expect(tracker.jobs[0]?.payload.toString()).toBe('hello');
  });

  it('throws what the scheduler refuses, with its reason', async () => {
    const tracker = await startTracker();
    tracker.onJob = ({ instance_id }) => ({ instance_id, outcome: 'SUBMIT_OUTCOME_REJECTED', reason: 'INSTANCE_ID_CONFLICT', message: 'sent before', code: 6 });
    const client = connect({ trackers: [tracker.address] });
    const error = await errorOf(client.submit(job('a')));
    expect(error).toMatchObject({ reason: 'INSTANCE_ID_CONFLICT' });
    expect(error.message).toContain('sent before');
    expect((await errorOf(client.submit({ task_id: 'a' } as NewJob))).reason).toBe('INVALID_ARGUMENT');
  });

  it('sends an idle one at once and gathers others while a call is out', async () => {
    const tracker = await startTracker();
    const gate = new Gate();
    tracker.onCall = () => gate.opened;
    const client = connect({ trackers: [tracker.address], submitTimeout: 5_000 });
    const first = client.submit(job('first'));
    await eventually(() => tracker.calls.length === 1);
    const others = Array.from({ length: 50 }, (_, i) => client.submit(job(`t${i}`)));
    await eventually(() => tracker.jobs.length === 51);
    gate.open();
    await Promise.all([first, ...others]);
    expect(tracker.calls[0]).toHaveLength(1);
    expect(tracker.calls.length).toBeLessThanOrEqual(5);
  });

  it('splits a large number into calls that keep their limits, in order', async () => {
    const tracker = await startTracker();
    const client = connect({ trackers: [tracker.address], submitTimeout: 10_000 });
    const many = await client.submitMany(Array.from({ length: 2_500 }, (_, i) => job(`t${i}`)));
    expect(many.every(({ outcome }) => outcome === 'SUBMIT_OUTCOME_ACCEPTED')).toBe(true);
    expect(new Set(many.map((result) => result.instance_id)).size).toBe(2_500);
    expect(Math.max(...tracker.calls.map((call) => call.length))).toBeLessThanOrEqual(1_000);
    expect(tracker.calls.length).toBeLessThan(30);
    const large = await client.submitMany(Array.from({ length: 10 }, (_, i) => job(`large${i}`, { payload: Buffer.alloc(1_000_000) })));
    expect(large.every(({ outcome }) => outcome === 'SUBMIT_OUTCOME_ACCEPTED')).toBe(true);
  });

  it('gives each job of a list its own outcome, in their order', async () => {
    const tracker = await startTracker();
    tracker.onJob = ({ instance_id, task_id }) =>
      task_id === 'dup' ? { instance_id, outcome: 'SUBMIT_OUTCOME_DUPLICATE_IGNORED', existing_instance_id: 'x' } : undefined;
    const client = connect({ trackers: [tracker.address] });
    const results = await client.submitMany([job('a'), job('bad', { priority: 0.5 }), job('dup'), job('b')]);
    expect(results.map(({ outcome }) => outcome)).toEqual([
      'SUBMIT_OUTCOME_ACCEPTED', 'SUBMIT_OUTCOME_REJECTED', 'SUBMIT_OUTCOME_DUPLICATE_IGNORED', 'SUBMIT_OUTCOME_ACCEPTED',
    ]);
    expect(results[1]).toMatchObject({ reason: 'INVALID_ARGUMENT', code: 3 });
    expect(await client.submitMany([])).toEqual([]);
  });

  it('finds the one job that makes the call fail', async () => {
    const tracker = await startTracker();
    tracker.onCall = (jobs) => {
      if (jobs.some(({ task_id }) => task_id === 't5')) throw new LtsError('INVALID_ARGUMENT', 'poison');
    };
    const client = connect({ trackers: [tracker.address] });
    const results = await client.submitMany(Array.from({ length: 10 }, (_, i) => job(`t${i}`)));
    expect(results.map(({ outcome }) => outcome).filter((outcome) => outcome !== 'SUBMIT_OUTCOME_ACCEPTED')).toEqual(['SUBMIT_OUTCOME_REJECTED']);
    expect(results[5]).toMatchObject({ reason: 'INVALID_ARGUMENT', message: 'poison' });
  });

  it('fails with NO_TRACKER within its time when nothing answers and nothing may be kept', async () => {
    const client = connect({ trackers: [`127.0.0.1:${await freePort()}`] });
    const since = systemClock.monotonic();
    const error = await errorOf(client.submit(job('a')));
    expect(error.reason).toBe('NO_TRACKER');
    expect(systemClock.monotonic() - since).toBeLessThan(2_000);
    expect((await errorOf(client.cancel({ task_id: 'a', node_group: 'g' }))).reason).toBe('NO_TRACKER');
  });

  it('refuses options and calls that cannot work', async () => {
    expect(() => new JobClient({})).toThrow('neither trackers nor registry nor gateway');
    expect(() => new JobClient({ trackers: ['nonsense'] })).toThrow('"nonsense"');
    expect(() => new JobClient({ gateway: '127.0.0.1:1', nodeGroup: 'a b' })).toThrow('"a b"');
    const client = connect({ gateway: '127.0.0.1:1' });
    await client.close();
    expect((await errorOf(client.submit(job('a')))).reason).toBe('CANCELLED');
  });
});

describe('finding the owner', () => {
  it('follows NOT_OWNER with the same ids, and remembers', async () => {
    const standBy = await startTracker();
    const owner = await startTracker();
    standBy.map = undefined;
    standBy.onJob = ({ instance_id }) => ({ instance_id, outcome: 'SUBMIT_OUTCOME_NOT_OWNER', owner: owner.address, reason: 'NOT_OWNER' });
    const client = connect({ trackers: [standBy.address] });
    const [one, two] = await client.submitMany([job('a'), job('b')]);
    expect([one?.outcome, two?.outcome]).toEqual(['SUBMIT_OUTCOME_ACCEPTED', 'SUBMIT_OUTCOME_ACCEPTED']);
    expect(owner.jobs.map((sent) => sent.instance_id)).toEqual([one?.instance_id, two?.instance_id]);
    expect(standBy.jobs.map((sent) => sent.instance_id)).toEqual([one?.instance_id, two?.instance_id]);
    await client.submit(job('c'));
    expect(owner.calls).toHaveLength(2);
  });

  it('follows a NOT_OWNER of the whole call and of a cancel', async () => {
    const standBy = await startTracker();
    const owner = await startTracker();
    standBy.map = undefined;
    const refuse = (): never => {
      throw new LtsError('NOT_OWNER', 'not mine', { owner: owner.address });
    };
    standBy.onCall = refuse;
    standBy.onCancel = refuse;
    const client = connect({ trackers: [standBy.address] });
    expect(await client.cancel({ task_id: 'a', node_group: 'other' })).toMatchObject({ outcome: 'CANCEL_OUTCOME_CANCELLED' });
    expect((await client.submit(job('a'))).outcome).toBe('SUBMIT_OUTCOME_ACCEPTED');
    expect(owner.cancels).toHaveLength(1);
  });

  it('splits a list by owner', async () => {
    const one = await startTracker();
    const two = await startTracker();
    for (const tracker of [one, two]) {
      const [node, other] = [{ node_id: '1', address: one.address }, { node_id: '2', address: two.address }];
      tracker.map = { version: 5, partitions: 2, trackers: [node, other], owners: [{ partition: 0, node_id: '1' }, { partition: 1, node_id: '2' }] };
    }
    const client = connect({ trackers: [one.address] });
    await eventually(async () => {
      await client.submitMany(Array.from({ length: 20 }, (_, i) => job('t', { node_group: `g${i}` })));
      return two.jobs.length > 0;
    });
    const groups = (tracker: FakeTracker): Set<string> => new Set(tracker.calls.slice(-1).flat().map((sent) => sent.node_group));
    expect([...groups(one)].filter((group) => groups(two).has(group))).toEqual([]);
    expect(groups(one).size).toBeGreaterThan(0);
  });

  it('goes to another tracker when the owner is gone, and waits out a LOADING', async () => {
    const owner = await startTracker();
    const next = await startTracker();
    for (const tracker of [owner, next]) tracker.showOwner(2, owner.address, next.address);
    const client = connect({ trackers: [owner.address, next.address], submitTimeout: 5_000 });
    await client.submit(job('a'));
    owner.stop();
    let loading = 3;
    next.onJob = ({ instance_id }) => (loading-- > 0 ? { instance_id, outcome: 'SUBMIT_OUTCOME_REJECTED', reason: 'LOADING', code: 14 } : undefined);
    const result = await client.submit(job('b'));
    expect(result.outcome).toBe('SUBMIT_OUTCOME_ACCEPTED');
    expect(next.jobs.length).toBeGreaterThanOrEqual(4);
    expect(new Set(next.jobs.map((sent) => sent.instance_id))).toEqual(new Set([result.instance_id]));
  });

  it('does not hang on a tracker that never answers', async () => {
    const silent = await startTracker();
    const good = await startTracker();
    silent.onCall = () => new Promise(() => undefined);
    silent.map = undefined;
    good.map = undefined;
    const client = connect({ trackers: [silent.address, good.address], submitTimeout: 1_000 });
    expect((await client.submit(job('a'))).outcome).toBe('SUBMIT_OUTCOME_ACCEPTED');
    expect(good.jobs[0]?.instance_id).toBe(silent.jobs[0]?.instance_id);
  });

  it('sends everything to a gateway', async () => {
    const gateway = await startTracker();
    gateway.onJob = ({ instance_id }) => ({ instance_id, outcome: 'SUBMIT_OUTCOME_STORED_LOCALLY' });
    const client = connect({ gateway: gateway.address });
    expect((await client.submit(job('a'))).outcome).toBe('SUBMIT_OUTCOME_STORED_LOCALLY');
  });
});

describe('the FailStore', () => {
  it('keeps jobs while no tracker answers and sends them later with the same ids, over a restart', async () => {
    const port = await freePort();
    const client = connect({ trackers: [`127.0.0.1:${port}`], dataDir });
    const results = await client.submitMany(Array.from({ length: 300 }, (_, i) => job(`t${i}`)));
    expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['SUBMIT_OUTCOME_STORED_LOCALLY']));
    // Its group is known to be out of reach: no further wait.
    const since = systemClock.monotonic();
    expect((await client.submit(job('t-more'))).outcome).toBe('SUBMIT_OUTCOME_STORED_LOCALLY');
    expect(systemClock.monotonic() - since).toBeLessThan(250);
    await client.close();
    const tracker = await startTracker(port);
    connect({ trackers: [tracker.address], dataDir });
    await eventually(() => tracker.jobs.length >= 301);
    expect(tracker.jobs.slice(0, 300).map((sent) => sent.instance_id)).toEqual(results.map((result) => result.instance_id));
    expect(tracker.late.size).toBe(301);
  });

  it('gives RESOURCE_EXHAUSTED back to the caller', async () => {
    const tracker = await startTracker();
    const client = connect({ trackers: [tracker.address], dataDir });
    tracker.onJob = ({ instance_id }) => ({ instance_id, outcome: 'SUBMIT_OUTCOME_REJECTED', reason: 'BACKLOG_FULL', message: 'full', code: 8 });
    expect((await errorOf(client.submit(job('a')))).reason).toBe('BACKLOG_FULL');
    tracker.onCall = () => {
      throw new LtsError('DISK_LOW', 'low');
    };
    expect((await errorOf(client.submit(job('b')))).reason).toBe('DISK_LOW');
    tracker.onCall = () => undefined;
    tracker.onJob = () => undefined;
    expect((await client.submit(job('a'))).outcome).toBe('SUBMIT_OUTCOME_ACCEPTED');
  });

  it('refuses what does not fit', async () => {
    const client = connect({ trackers: [`127.0.0.1:${await freePort()}`], dataDir, failStoreSize: 10_000 });
    const results = await client.submitMany(Array.from({ length: 12 }, (_, i) => job(`t${i}`, { payload: Buffer.alloc(1_000) })));
    const stored = results.filter(({ outcome }) => outcome === 'SUBMIT_OUTCOME_STORED_LOCALLY');
    const refused = results.filter(({ outcome }) => outcome === 'SUBMIT_OUTCOME_REJECTED');
    expect(stored.length).toBeGreaterThan(4);
    expect(refused).toHaveLength(12 - stored.length);
    expect(refused[0]).toMatchObject({ reason: 'FAIL_STORE_FULL', code: 8 });
  });

  it('queues later submits and cancels of a key behind it, and sends them one after the other', async () => {
    const port = await freePort();
    const client = connect({ trackers: [`127.0.0.1:${port}`], dataDir });
    const first = await client.submit(job('a'));
    expect(first.outcome).toBe('SUBMIT_OUTCOME_STORED_LOCALLY');
    expect((await client.cancel({ instance_id: first.instance_id ?? '', node_group: 'g' })).outcome).toBe('CANCEL_OUTCOME_STORED_LOCALLY');
    const tracker = new FakeTracker();
    trackers.push(tracker);
    const gate = new Gate();
    tracker.onCall = () => gate.opened;
    await tracker.start(port);
    tracker.showOwner(1, tracker.address);
    await eventually(() => tracker.calls.length === 1);
    // The tracker is back, the first entry is out: the key is still held.
    const second = await client.submit(job('a', { replace_on_exist: true }));
    expect(second.outcome).toBe('SUBMIT_OUTCOME_STORED_LOCALLY');
    expect((await client.cancel({ task_id: 'a', node_group: 'g' })).outcome).toBe('CANCEL_OUTCOME_STORED_LOCALLY');
    expect(tracker.calls).toHaveLength(1);
    const order: string[] = [];
    tracker.onJob = ({ instance_id }) => void order.push(instance_id);
    tracker.onCancel = ({ instance_id }) => {
      order.push(`cancel ${instance_id}`);
      return { outcome: 'CANCEL_OUTCOME_CANCELLED', instance_ids: [instance_id] };
    };
    tracker.instances = [{ instance_id: second.instance_id ?? '', job: { task_id: 'a', node_group: 'g' } }];
    gate.open();
    await eventually(() => order.length === 4);
    expect(order).toEqual([first.instance_id, `cancel ${first.instance_id}`, second.instance_id, `cancel ${second.instance_id}`]);
    await eventually(async () => (await client.submit(job('a'))).outcome === 'SUBMIT_OUTCOME_ACCEPTED');
  });

  it.each([
    ['no schedule', undefined],
    ['a schedule that has ended', { schedule_id: newId(systemClock.now() - 5_000), state: 'SCHEDULE_STATE_DELETED', ended_at: systemClock.now() - 1_000 }],
  ])('spares younger instances when a cancel by task is sent late, of %s', async (_of, schedule) => {
    const port = await freePort();
    const client = connect({ trackers: [`127.0.0.1:${port}`], dataDir });
    const stored = await client.submit(job('a'));
    await client.cancel({ task_id: 'a', node_group: 'g' });
    // By a maker of its own: ids of one maker only grow.
    const younger = idMaker(randomFillSync)(systemClock.now() + 5_000);
    const tracker = new FakeTracker();
    tracker.onSchedule = (_method, request) => {
      if (schedule === undefined || request.live_only === true) throw new LtsError('NOT_FOUND', 'there is no schedule a');
      return { schedule };
    };
    tracker.instances = [stored.instance_id ?? '', younger].map((instance_id) => ({ instance_id, job: { task_id: 'a', node_group: 'g' } }));
    trackers.push(tracker);
    await tracker.start(port);
    tracker.showOwner(1, tracker.address);
    await eventually(() => tracker.cancels.length > 0);
    await eventually(async () => (await client.submit(job('a'))).outcome === 'SUBMIT_OUTCOME_ACCEPTED');
    expect(tracker.cancels.map((request) => request.instance_id)).toEqual([stored.instance_id]);
  });

  it('does not let a full group or a bad entry hold up the others', async () => {
    const port = await freePort();
    const client = connect({ trackers: [`127.0.0.1:${port}`], dataDir });
    const jobs = ['full', 'bad', 'good'].flatMap((group) => [job('1', { node_group: group }), job('2', { node_group: group })]);
    await client.submitMany(jobs);
    const tracker = new FakeTracker();
    trackers.push(tracker);
    const taken: string[] = [];
    let full = true;
    tracker.onJob = ({ instance_id, node_group, task_id }) => {
      if (node_group === 'full' && full) return { instance_id, outcome: 'SUBMIT_OUTCOME_REJECTED', reason: 'BACKLOG_FULL', code: 8 };
      if (node_group === 'bad') return { instance_id, outcome: 'SUBMIT_OUTCOME_REJECTED', reason: 'INVALID_ARGUMENT', code: 3 };
      taken.push(`${node_group}/${task_id}`);
      return undefined;
    };
    await tracker.start(port);
    tracker.showOwner(1, tracker.address);
    await eventually(() => taken.length === 2);
    expect(taken).toEqual(['good/1', 'good/2']);
    full = false;
    await eventually(() => taken.length === 4);
    expect(taken.slice(2)).toEqual(['full/1', 'full/2']);
    // A dead entry holds nothing.
    const calls = tracker.calls.length;
    expect((await errorOf(client.submit(job('1', { node_group: 'bad' })))).reason).toBe('INVALID_ARGUMENT');
    expect(tracker.calls.length).toBe(calls + 1);
  });
});
