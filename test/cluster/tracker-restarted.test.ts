import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../shared/time/clock.js';
import { epochOf, record } from '../checker/history.js';
import { eventually } from '../kit/eventually.js';
import { Cluster } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

describe('a tracker without ZooKeeper is killed under load and restarted', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  it('the workers keep their runs: none is started a second time', async () => {
    cluster = await Cluster.start();
    const a = cluster.tracker('a');
    await cluster.startWorker('w1', { workThreads: 16 });
    load = new Load(cluster);
    load.receive();
    const gate = cluster.gate();
    const running = await Promise.all(Array.from({ length: 8 }, (_, i) => load.submitted({ task_id: `running-${i}`, type: 'hold', payload: gate.path })));
    await eventually(() => cluster.witness.starts().length === 8, { what: 'the long ones run' });
    load.start(200);
    await eventually(() => cluster.witness.ends().length > 200, { what: 'work goes on' });
    const before = await a.owns();

    await a.kill();
    await a.start();
    const healedAt = systemClock.now();
    expect(await a.owns()).toBe(before + 1);
    const next = await eventually(() => cluster.witness.starts().find(({ fence }) => epochOf(fence) > before), { withinMs: 15_000, what: 'a run of the new epoch' });
    record(cluster.history, 'recovered', { kind: 'recovered', afterMs: next.at - healedAt, limitMs: 2_000 });
    gate.open();
    const ran = cluster.witness.ends().length;
    await eventually(() => cluster.witness.ends().length > ran + 200, { withinMs: 15_000, what: 'work goes on' });

    expect(await conclude(cluster, load)).toEqual([]);
    expect(load.failures).toEqual([]);
    for (const id of running) expect(await a.admin.attempts(id)).toMatchObject([{ attempt: 1, outcome: 'ATTEMPT_OUTCOME_SUCCESS' }]);
    expect((await a.admin.instances()).filter(({ attempt }) => attempt !== 1)).toEqual([]);
    expect(cluster.witness.starts()).toHaveLength(load.acked.length);
  });
});
