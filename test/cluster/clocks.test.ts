import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../kit/eventually.js';
import { WallClock } from '../kit/wall-clock.js';
import { Cluster, group, type Tracker } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

const hour = 3_600_000;

describe('clocks that are wrong', () => {
  let cluster: Cluster;
  let load: Load;
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lts-clocks-'));
  });

  afterEach(async () => {
    await load.close();
    await cluster.stop();
    rmSync(folder, { recursive: true });
  });

  it('a worker an hour ahead is told of, and delays nothing', async () => {
    cluster = await Cluster.start();
    const a = cluster.tracker('a');
    load = new Load(cluster);
    load.receive();
    await cluster.startWorker('w1', { env: new WallClock(join(folder, 'w1'), hour).env });
    await cluster.workersConnected(1);
    const offset = async (): Promise<number | undefined> => (await a.admin.nodes()).find(({ node_id: id }) => id === 'w1')?.clock_offset;
    expect(Math.abs((await eventually(offset)) - hour)).toBeLessThan(1_000);
    expect(a.process.logged('clock.apart')).toMatchObject([{ worker: 'w1', offsetMs: expect.any(Number) }]);
    // By the rules of which release it computes times, each tracker tells.
    expect((await a.admin.nodes()).filter(({ tzdata }) => tzdata !== '').map(({ node_id, tzdata }) => [node_id, tzdata])).toEqual([['a', process.versions.tz]]);
    expect((await a.admin.cluster()).tzdata).toEqual([{ node_id: 'a', version: process.versions.tz }]);

    const submittedAt = systemClock.now();
    const id = await load.submitted({ type: 'later', max_retry_times: 1 });
    await eventually(async () => (await a.admin.instance(id)).state === 'INSTANCE_STATE_SUCCEEDED', { withinMs: 15_000 });
    const [first] = await a.admin.attempts(id);
    expect(Math.abs((first?.assigned_at ?? 0) - submittedAt)).toBeLessThan(10_000);
    expect((first?.started_at ?? 0) - submittedAt).toBeGreaterThan(hour / 2);
    expect(await conclude(cluster, load)).toEqual([]);
  });

  it('steps of the host by an hour in either direction lose nothing and start nothing twice', async () => {
    const clock = new WallClock(join(folder, 'a'), 0);
    cluster = await Cluster.start({ trackerEnv: () => clock.env });
    const a = cluster.tracker('a');
    load = new Load(cluster, { submitTimeout: 10_000 });
    load.receive();
    await cluster.startWorker('w1', { workThreads: 8 });
    await cluster.workersConnected(1);
    const faraway = await load.submitted({ task_id: 'faraway', trigger_time: systemClock.now() + 3 * hour });
    const soon = await load.submitted({ task_id: 'soon', trigger_time: systemClock.now() + hour - 60_000 });
    load.start(100);
    for (const [jumps, offsetMs] of [hour, 0, -hour, 0].entries()) {
      clock.set(offsetMs);
      await eventually(() => a.process.logged('clock.jumped').length > jumps, { what: `jump ${jumps + 1} is noticed` });
      const ran = cluster.witness.ends().length;
      await eventually(() => cluster.witness.ends().length > ran + 100, { what: 'work goes on' });
    }
    expect((await a.admin.instance(soon)).state).toBe('INSTANCE_STATE_SUCCEEDED');
    expect((await a.admin.instance(faraway)).state).toBe('INSTANCE_STATE_WAITING');
    await load.client.cancel({ task_id: 'faraway', node_group: 'work' });
    expect(await conclude(cluster, load)).toEqual([]);
    expect(load.failures).toEqual([]);
    expect((await a.admin.instances()).filter(({ attempt }) => attempt > 1)).toEqual([]);
  });

  it('trackers whose hosts are two hours apart agree by the clock of PostgreSQL, also while their hosts are set', async () => {
    const clocks = new Map([['a', new WallClock(join(folder, 'a'), hour)], ['b', new WallClock(join(folder, 'b'), -hour)]]);
    cluster = await Cluster.start({ trackers: 2, store: 'postgres', partitions: 2, trackerEnv: (name) => clocks.get(name)?.env ?? {} });
    load = new Load(cluster, { submitTimeout: 20_000 });
    load.receive();
    await cluster.startWorker('w1', { workThreads: 8 });
    const first = await cluster.ownerOf(group);
    const [other] = cluster.trackers.filter((tracker) => tracker !== first) as [Tracker];
    const sign = first.name === 'a' ? 1 : -1;
    const self = (await first.admin.nodes()).find(({ node_id: id }) => id === first.name);
    expect(Math.abs((self?.clock_offset ?? 0) - sign * hour)).toBeLessThan(5_000);

    /** A job that is due in so many milliseconds, by the true time. */
    const timed = async (task: string, inMs: number): Promise<{ task: string; id: string; due: number }> => {
      const due = systemClock.now() + inMs;
      return { task, id: await load.submitted({ task_id: task, trigger_time: due }), due };
    };
    const runsInTime = async ({ task, due }: { task: string; due: number }): Promise<void> => {
      const start = await eventually(() => cluster.witness.starts(task)[0], { withinMs: 25_000, what: `${task} runs` });
      expect(start.at).toBeGreaterThanOrEqual(due - 50);
      expect(start.at - due).toBeLessThan(2_000);
    };
    const early = await timed('early', 2_500);
    const { created_at: createdAt } = await first.admin.instance(early.id);
    expect(Math.abs(createdAt - (early.due - 2_500))).toBeLessThan(2_000);
    await runsInTime(early);
    await load.submitted({ task_id: 'again', type: 'later', max_retry_times: 1 });
    await eventually(() => cluster.witness.ends('again').length === 2, { what: 'a retry comes in time' });

    // The owner's host is set by two hours while something waits for its time.
    const stepped = await timed('stepped', 6_000);
    clocks.get(first.name)?.set(-sign * hour);
    const offset = async (): Promise<number> => (await first.admin.nodes()).find(({ node_id: id }) => id === first.name)?.clock_offset ?? 0;
    await eventually(async () => Math.abs((await offset()) + sign * hour) < 5_000, { what: 'the step is seen' });
    await runsInTime(stepped);
    expect(first.process.logged('clock.jumped')).toEqual([]);

    // The next owner, whose host is elsewhere again, runs it at the same time.
    clocks.get(first.name)?.set(sign * hour);
    const inherited = await timed('inherited', 12_000);
    await first.kill();
    await runsInTime(inherited);
    expect(other.process.logged('clock.jumped')).toEqual([]);
    expect(await conclude(cluster, load)).toEqual([]);
    expect((await other.admin.instances()).filter(({ attempt }) => attempt > 1).map(({ job }) => job?.task_id)).toEqual(['again']);
  });
});
