import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../kit/eventually.js';
import { Cluster } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

const graceMs = 3_000;

describe('worker and tracker are killed while jobs run, and the worker does not come back', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  it('the jobs do not stay EXECUTING: they run elsewhere within the grace time of the restarted tracker', async () => {
    cluster = await Cluster.start({ graceMs });
    const a = cluster.tracker('a');
    const worker = await cluster.startWorker('w1');
    load = new Load(cluster);
    load.receive();
    const gate = cluster.gate();
    const ids = await Promise.all(Array.from({ length: 4 }, () => load.submitted({ type: 'hold', payload: gate.path })));
    await eventually(() => cluster.witness.starts().length === 4, { what: 'all run' });
    worker.kill();
    await a.kill();
    await worker.exited();
    gate.open();

    await a.start();
    await a.owns();
    const restarted = systemClock.monotonic();
    await cluster.startWorker('w2');
    await eventually(() => cluster.witness.starts().length === 8, { withinMs: 20_000, what: 'all run again' });
    // Sooner than that when w2, which shares its folder, finds that w1 has ended.
    expect(systemClock.monotonic() - restarted).toBeLessThan(graceMs + 5_000);
    expect(await conclude(cluster, load)).toEqual([]);
    for (const id of ids) expect(await a.admin.attempts(id)).toMatchObject([{ task_tracker: 'w1', outcome: 'ATTEMPT_OUTCOME_LOST' }, { attempt: 2, task_tracker: 'w2', outcome: 'ATTEMPT_OUTCOME_SUCCESS' }]);
  });
});
