import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../shared/time/clock.js';
import { epochOf, record } from '../checker/history.js';
import { eventually } from '../kit/eventually.js';
import { Cluster, sessionMs } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

describe('the owner is killed under load', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  it('the stand-by goes on within the session time and 2 s, and nothing is lost', async () => {
    cluster = await Cluster.start({ trackers: 2 });
    const [a, b] = [cluster.tracker('a'), cluster.tracker('b')];
    await cluster.startWorker('w1', { workThreads: 16 });
    load = new Load(cluster);
    load.receive();
    const before = await a.owns();
    load.start(200);
    await eventually(() => cluster.witness.ends().length > 200, { what: 'work goes on' });

    const killedAt = systemClock.now();
    await a.kill();
    const next = await eventually(() => cluster.witness.starts().find(({ fence }) => epochOf(fence) > before), { withinMs: 15_000, everyMs: 50, what: 'a run of the next owner' });
    record(cluster.history, 'recovered', { kind: 'recovered', afterMs: next.at - killedAt, limitMs: sessionMs + 2_000 });
    expect(await b.owns()).toBeGreaterThan(before);

    const ran = cluster.witness.ends().length;
    await eventually(() => cluster.witness.ends().length > ran + 400, { withinMs: 15_000, what: 'work goes on at the next owner' });
    // The killed one comes back as the stand-by.
    await a.start();
    await cluster.allKnown();
    expect(await conclude(cluster, load)).toEqual([]);
    expect(load.failures).toEqual([]);
    expect(await a.epoch()).toBeUndefined();
    expect(load.results.size).toBe(load.acked.length);
  });
});
