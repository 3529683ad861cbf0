import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../kit/eventually.js';
import { Cluster, sessionMs } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';
import { systemClock } from '../../shared/time/clock.js';

describe('ZooKeeper is killed under load', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  it('the owner goes on and says that it is degraded, nothing is taken over, and all is well when it is back', async () => {
    cluster = await Cluster.start({ trackers: 2 });
    const [a, b] = [cluster.tracker('a'), cluster.tracker('b')];
    await cluster.startWorker('w1', { workThreads: 16 });
    load = new Load(cluster, { submitTimeout: 5_000 });
    load.receive();
    const epoch = await a.owns();
    load.start(100);
    await eventually(() => cluster.witness.ends().length > 50, { what: 'work goes on' });

    await cluster.zookeeper?.kill();
    const killedAt = systemClock.monotonic();
    for (const { admin } of [a, b]) {
      await eventually(async () => (await admin.cluster()).degraded, { withinMs: 3 * sessionMs, everyMs: 50, what: 'it is degraded' });
      expect((await admin.cluster()).registry).not.toBe('CONNECTED');
    }
    // Well past the session time.
    await eventually(() => systemClock.monotonic() - killedAt > 2 * sessionMs, { withinMs: 3 * sessionMs });
    const ran = cluster.witness.starts().length;
    await eventually(() => cluster.witness.starts().length > ran + 100, { what: 'work goes on without ZooKeeper' });
    expect(await a.epoch()).toBe(epoch);
    expect(await b.epoch()).toBeUndefined();

    await cluster.zookeeper?.restart();
    for (const { admin } of [a, b]) {
      const well = async (): Promise<boolean> => {
        const { degraded, registry } = await admin.cluster();
        return !degraded && registry === 'CONNECTED';
      };
      await eventually(well, { withinMs: 20_000, everyMs: 50, what: 'it is well again' });
    }
    await cluster.allKnown();
    expect(await conclude(cluster, load)).toEqual([]);
    expect(load.failures).toEqual([]);
    expect(await a.epoch()).toBe(epoch);
    expect(await b.epoch()).toBeUndefined();
    expect(new Set(cluster.witness.starts().map(({ attempt }) => attempt))).toEqual(new Set([1]));
  });
});
