import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../kit/eventually.js';
import { WallClock } from '../kit/wall-clock.js';
import { Cluster } from './cluster.js';
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
});
