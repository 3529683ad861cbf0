import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../kit/eventually.js';
import { Cluster } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

describe('a worker is killed and restarted at once', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  it('its finished results are delivered, its unfinished runs begin anew without waiting for the grace time', async () => {
    const graceMs = 60_000;
    cluster = await Cluster.start({ graceMs });
    const { admin, process: tracker } = cluster.tracker('a');
    const worker = await cluster.startWorker('w1', { workThreads: 10 });
    load = new Load(cluster);
    load.receive();
    const first = cluster.gate('first');
    const second = cluster.gate('second');
    const finished = await Promise.all(Array.from({ length: 5 }, (_, i) => load.submitted({ task_id: `finished-${i}`, type: 'hold', payload: first.path })));
    const unfinished = await Promise.all(Array.from({ length: 5 }, (_, i) => load.submitted({ task_id: `unfinished-${i}`, type: 'hold', payload: second.path })));
    await eventually(() => cluster.witness.starts().length === 10, { what: 'all run' });

    // While the tracker stands still no result is acked: they go to the FailStore of the worker.
    tracker.pause();
    first.open();
    await eventually(() => cluster.witness.ends().length === 5, { what: 'five have ended' });
    await eventually(() => worker.logged('failstore.stored').some(({ kind }) => kind === 'result'), { what: 'the results are in the FailStore' });
    worker.kill();
    await worker.exited();
    await cluster.startWorker('w1', { workThreads: 10 });
    const back = systemClock.monotonic();
    tracker.resume();
    await eventually(() => cluster.witness.starts().length === 15, { withinMs: graceMs / 2, what: 'the unfinished ones run again' });
    expect(systemClock.monotonic() - back).toBeLessThan(graceMs / 2);
    second.open();

    expect(await conclude(cluster, load)).toEqual([]);
    for (const id of finished) {
      expect(await admin.attempts(id)).toMatchObject([{ attempt: 1, outcome: 'ATTEMPT_OUTCOME_SUCCESS', message: `attempt 1 on ${worker.pid}` }]);
    }
    for (const id of unfinished) {
      expect(await admin.attempts(id)).toMatchObject([{ outcome: 'ATTEMPT_OUTCOME_LOST' }, { attempt: 2, outcome: 'ATTEMPT_OUTCOME_SUCCESS' }]);
      expect(await admin.instance(id)).toMatchObject({ state: 'INSTANCE_STATE_SUCCEEDED', lost_times: 1 });
    }
    expect(cluster.witness.starts()).toHaveLength(15);
    expect(load.results.size).toBe(10);
  });

  it('a job that may run at most once is not run again', async () => {
    cluster = await Cluster.start();
    const worker = await cluster.startWorker('w1');
    load = new Load(cluster);
    load.receive();
    const gate = cluster.gate();
    const id = await load.submitted({ task_id: 'once', type: 'hold', payload: gate.path, on_worker_loss: 'FAIL' });
    await load.submitted({ task_id: 'again', type: 'hold', payload: gate.path });
    await eventually(() => cluster.witness.starts().length === 2, { what: 'both run' });
    worker.kill();
    await worker.exited();
    gate.open();
    await cluster.startWorker('w1');
    expect(await conclude(cluster, load)).toEqual([]);
    expect(await cluster.tracker('a').admin.instance(id)).toMatchObject({ state: 'INSTANCE_STATE_LOST', attempt: 1 });
    expect(cluster.witness.starts('once')).toHaveLength(1);
    expect(cluster.witness.starts('again')).toHaveLength(2);
    expect(load.results.get(id)).toMatchObject({ state: 'INSTANCE_STATE_LOST', outcome: 'ATTEMPT_OUTCOME_LOST' });
  });
});
