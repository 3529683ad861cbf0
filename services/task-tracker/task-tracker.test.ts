import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../test/kit/eventually.js';
import { taskOf } from '../../test/kit/fake-job-tracker.js';
import { cleanUp, fakeTracker, gate, startWorker } from '../../test/kit/worker.js';
import { DoNotRetry, Outcome, RetryLater, type RunnerContext, type Runners } from './index.js';

afterEach(cleanUp);

describe('a worker', () => {
  it('says who it is, answers Owns by an Inventory, then grants its slots', async () => {
    const tracker = await fakeTracker();
    const worker = await startWorker(tracker, { a: () => undefined, b: () => undefined }, { nodeId: 'n1' });
    const { session } = tracker;
    expect(session.hello).toMatchObject({ node_id: 'n1', incarnation: worker.incarnation, node_group: 'g', types: ['a', 'b'], work_threads: 4, pid: process.pid });
    expect(session.order.slice(0, 3)).toEqual(['hello', 'inventory', 'slots']);
    expect(session.inventory).toEqual([]);
    expect(session.granted).toBe(4);
  });

  it('hands the job and its surroundings to the runner', async () => {
    const tracker = await fakeTracker();
    const seen: RunnerContext[] = [];
    await startWorker(tracker, { greet: (context) => void seen.push(context) });
    const task = taskOf({ type: 'greet', payload: Buffer.from('{"to":"you"}'), content_type: 'application/json', ext_params: { k: 'v' }, max_retry_times: 3 }, { attempt: 2, fencing_token: 7, retry_times: 1 });
    tracker.session.tasks([task]);
    await eventually(() => tracker.results.length === 1);
    const [context] = seen;
    expect(context).toMatchObject({ instanceId: task.instance_id, attempt: 2, fencingToken: 7, retryTimes: 1, scheduledTime: new Date(1_700_000_000_000), scheduled: false });
    expect(context?.job).toMatchObject({ taskId: 't', nodeGroup: 'g', type: 'greet', contentType: 'application/json', extParams: { k: 'v' }, priority: 100, maxRetryTimes: 3 });
    expect(context?.job.json()).toEqual({ to: 'you' });
    expect(Buffer.isBuffer(context?.job.payload)).toBe(true);
  });

  it('tells runners whether they run for a schedule', async () => {
    const tracker = await fakeTracker();
    await startWorker(tracker, ({ scheduled, scheduledTime }) => `${scheduled} ${scheduledTime.getTime()}`);
    tracker.session.tasks([taskOf({}), taskOf({ cron_expression: '@daily' }), taskOf({ repeat_interval: 1_000, repeat_count: -1 })]);
    await eventually(() => tracker.results.length === 3);
    expect(tracker.results.map(({ message }) => message)).toEqual(['false 1700000000000', 'true 1700000000000', 'true 1700000000000']);
  });

  it('tells who the master of the group is, to listeners and to runners', async () => {
    const tracker = await fakeTracker();
    const seen: unknown[] = [];
    const worker = await startWorker(tracker, ({ mastership }) => mastership, { nodeId: 'n1' });
    worker.onMaster((mastership) => {
      seen.push(mastership);
      throw new Error('a listener that fails');
    });
    const say = (self: boolean, nodeId: string, token: number): void => tracker.session.send({ master: { self, node_id: nodeId, token, lease: 60_000 } });
    say(false, 'n2', 3);
    say(true, 'n1', 4);
    await eventually(() => seen.length === 2);
    expect(seen).toEqual([{ master: false, nodeId: 'n2', token: 3 }, { master: true, nodeId: 'n1', token: 4 }]);
    tracker.session.tasks([taskOf({})]);
    await eventually(() => tracker.results.length === 1);
    expect(JSON.parse(tracker.results[0]?.message ?? '')).toEqual({ master: true, nodeId: 'n1', token: 4 });

    // The next stream claims it; a leave gives it up.
    tracker.session.stream.end();
    await eventually(() => tracker.sessions.length === 2 && tracker.session.hello);
    await eventually(() => tracker.session.inventory);
    expect([tracker.session.hello?.master_token, tracker.session.masterToken]).toEqual([4, 4]);
    await worker.drain();
    expect(worker.mastership).toEqual({ master: false, nodeId: '', token: 4 });
  });

  it('is master from the time that the tracker brings back, and tells a new one each time', async () => {
    const tracker = await fakeTracker();
    const worker = await startWorker(tracker, () => 'done', { nodeId: 'n1' });
    const { session } = tracker;
    const told = session.hello?.monotonic ?? 0;
    expect(told).toBeGreaterThan(0);
    session.send({ master: { self: true, node_id: 'n1', token: 3, lease: 1, heard: 1 } });
    await eventually(() => session.pongs.length === 1);
    expect(session.pongs[0]?.monotonic).toBeGreaterThanOrEqual(told);
    expect(worker.mastership.master).toBe(false);
    session.send({ master: { self: true, node_id: 'n1', token: 3, lease: 60_000, heard: session.pongs[0]?.monotonic ?? 0 } });
    await eventually(() => worker.mastership.master);
    await eventually(() => session.pongs.length === 2);
  });

  it('tells each way to end by its outcome', async () => {
    const tracker = await fakeTracker();
    const at = new Date(1_900_000_000_000);
    const runners: Runners = {
      nothing: () => undefined,
      text: async () => 'done',
      json: () => ({ a: 1 }),
      outcome: () => Outcome.failed('no'),
      thrown: () => {
        throw new Error('broken');
      },
      rejected: async () => {
        throw new TypeError('worse', { cause: new Error('root') });
      },
      forGood: () => {
        throw new DoNotRetry('never');
      },
      later: () => {
        throw new RetryLater(at, 'not yet');
      },
      circular: () => {
        const value: Record<string, unknown> = {};
        value['self'] = value;
        return value;
      },
    };
    await startWorker(tracker, runners);
    const types = [...Object.keys(runners), 'unknown'];
    for (const type of types) {
      const before = tracker.results.length;
      tracker.session.tasks([taskOf({ type })]);
      await eventually(() => tracker.results.length > before);
    }
    const byType = Object.fromEntries(tracker.results.map((result, index) => [types[index], result]));
    expect(byType['nothing']).toMatchObject({ outcome: 'ATTEMPT_OUTCOME_SUCCESS', message: '', truncated: false });
    expect(byType['text']).toMatchObject({ outcome: 'ATTEMPT_OUTCOME_SUCCESS', message: 'done' });
    expect(byType['json']).toMatchObject({ outcome: 'ATTEMPT_OUTCOME_SUCCESS', message: '{"a":1}' });
    expect(byType['outcome']).toMatchObject({ outcome: 'ATTEMPT_OUTCOME_FAILED', message: 'no' });
    expect(byType['thrown']).toMatchObject({ outcome: 'ATTEMPT_OUTCOME_EXCEPTION', message: expect.stringMatching(/^Error: broken\n {4}at /) });
    expect(byType['rejected']?.message).toMatch(/TypeError: worse[^]*caused by: Error: root/);
    expect(byType['forGood']).toMatchObject({ outcome: 'ATTEMPT_OUTCOME_FAILED' });
    expect(byType['later']).toMatchObject({ outcome: 'ATTEMPT_OUTCOME_LATER', message: 'not yet', retry_at: at.getTime() });
    expect(byType['circular']).toMatchObject({ outcome: 'ATTEMPT_OUTCOME_SUCCESS', message: expect.stringContaining('not JSON') });
    expect(byType['unknown']).toMatchObject({ outcome: 'ATTEMPT_OUTCOME_EXCEPTION', message: expect.stringMatching(/no runner for type unknown; this worker has: nothing, text/) });
  });

  it('never runs more than its slots and grants them anew as they come free', async () => {
    const tracker = await fakeTracker();
    let running = 0;
    let most = 0;
    await startWorker(tracker, async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
    });
    const { session } = tracker;
    let left = 200;
    while (left > 0) {
      await eventually(() => session.unused > 0);
      const count = Math.min(left, session.unused);
      session.tasks(Array.from({ length: count }, () => taskOf({})));
      left -= count;
      // What may be out now: what runs and what the tracker may still send.
      expect(session.granted - session.results.length).toBeLessThanOrEqual(4 + 4);
    }
    await eventually(() => session.results.length === 200);
    expect(most).toBeLessThanOrEqual(4);
    expect(new Set(session.results.map((result) => result.instance_id)).size).toBe(200);
  });

  it('grants nothing for a slot whose runner goes on', async () => {
    const tracker = await fakeTracker();
    const held = gate();
    await startWorker(tracker, held.runner, { workThreads: 2 });
    const { session } = tracker;
    session.tasks([taskOf({}), taskOf({})]);
    await eventually(() => held.started.length === 2);
    expect(session.granted).toBe(2);
    held.open();
    await eventually(() => session.granted === 4);
  });

  it('cuts a tracker that sends more than was granted', async () => {
    const tracker = await fakeTracker();
    const held = gate();
    await startWorker(tracker, held.runner, { workThreads: 2 });
    const first = tracker.session;
    first.tasks([taskOf({}), taskOf({}), taskOf({})]);
    await eventually(() => tracker.sessions.length === 2 && tracker.session.inventory !== undefined);
    expect(held.started.length).toBe(2);
    expect(tracker.session.inventory?.length).toBe(2);
    held.open();
  });

  it('does not run an attempt twice; sent again when finished, it gets its result', async () => {
    const tracker = await fakeTracker({ acksResults: false });
    const held = gate();
    await startWorker(tracker, held.runner);
    const task = taskOf({});
    const { session } = tracker;
    session.tasks([task, task]);
    await eventually(() => held.started.length > 0);
    held.open();
    await eventually(() => session.results.length === 1);
    session.tasks([task]);
    await eventually(() => session.results.length === 2);
    expect(held.started.length).toBe(1);
    expect(session.results[1]).toEqual(session.results[0]);
  });

  it('refuses tasks and trackers below the epoch it has seen', async () => {
    const tracker = await fakeTracker({ epoch: 5 });
    let ran = 0;
    await startWorker(tracker, () => void ran++);
    tracker.options.epoch = 4;
    tracker.session.tasks([taskOf({}, { epoch: 4 })]);
    // The stream is cut, and so is the next one, whose Owns is old as well.
    await eventually(() => tracker.sessions.length >= 3);
    expect(tracker.sessions[1]?.inventories).toEqual([]);
    tracker.options.epoch = 6;
    await eventually(() => tracker.session.granted > 0);
    tracker.session.tasks([taskOf({}, { epoch: 6 })]);
    await eventually(() => tracker.results.length === 1);
    expect(ran).toBe(1);
  });

  it('answers a second Owns on the same stream by Inventory, results and slots', async () => {
    const tracker = await fakeTracker({ acksResults: false });
    const held = gate();
    await startWorker(tracker, { default: held.runner, quick: () => 'q' });
    const { session } = tracker;
    const [running, finished] = [taskOf({}), taskOf({ type: 'quick' })];
    session.tasks([running, finished]);
    await eventually(() => session.results.length === 1);
    session.owns(2);
    await eventually(() => session.inventories.length === 2 && session.results.length === 2);
    expect(session.inventory).toContainEqual({ instance_id: running.instance_id, attempt: 1, finished: false });
    expect(session.inventory).toContainEqual({ instance_id: finished.instance_id, attempt: 1, finished: true });
    expect(session.resultFrames.map(({ sequence }) => sequence)).toEqual([1, 2]);
    held.open();
  });
});
