import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../kit/eventually.js';
import { Cluster } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

/** Longest pause between two runs that began at or after a time, in milliseconds. */
function longestPause(times: readonly number[], from: number): number {
  const later = [from, ...times.filter((at) => at >= from).sort((x, y) => x - y)];
  return Math.max(...later.slice(1).map((at, i) => at - (later[i] ?? at)));
}

describe('the owner is asked to leave under load', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  it('another takes over: no submit fails, no run is disturbed, the pause is short', async () => {
    cluster = await Cluster.start({ trackers: 2 });
    const [a, b] = [cluster.tracker('a'), cluster.tracker('b')];
    for (const name of ['w1', 'w2']) await cluster.startWorker(name, { workThreads: 16 });
    await cluster.workersConnected(2);
    load = new Load(cluster, { submitTimeout: 10_000 });
    load.receive();
    const gate = cluster.gate();
    const running = await Promise.all(Array.from({ length: 6 }, (_, i) => load.submitted({ task_id: `running-${i}`, type: 'hold', payload: gate.path })));
    await eventually(() => cluster.witness.starts().length === 6, { what: 'the long ones run' });
    load.start(200);
    await eventually(() => cluster.witness.ends().length > 100, { what: 'work goes on' });
    const before = await a.owns();

    const from = systemClock.now();
    expect(await a.process.stop()).toBe(0);
    expect(await b.owns()).toBeGreaterThan(before);
    const ran = cluster.witness.ends().length;
    await eventually(() => cluster.witness.ends().length > ran + 200, { withinMs: 15_000, what: 'work goes on at the next owner' });
    gate.open();
    expect(await conclude(cluster, load)).toEqual([]);

    expect(load.failures).toEqual([]);
    for (const id of running) expect(await b.admin.attempts(id)).toMatchObject([{ attempt: 1, outcome: 'ATTEMPT_OUTCOME_SUCCESS' }]);
    expect((await b.admin.instances()).filter(({ attempt }) => attempt > 1)).toEqual([]);
    const pauseMs = longestPause(cluster.witness.starts().map(({ at }) => at), from);
    process.stdout.write(`pause of dispatch at a planned hand-over: ${pauseMs} ms\n`);
    expect(pauseMs).toBeLessThan(2_000);
  });
});
