import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../kit/eventually.js';
import { Cluster } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

describe('a worker is killed and does not come back', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  it('a neighbour on the same disk delivers its results within the grace time: nothing of it is lost or run again', async () => {
    cluster = await Cluster.start({ graceMs: 30_000 });
    const tracker = cluster.tracker('a');
    const worker = await cluster.startWorker('w1', { workThreads: 10 });
    load = new Load(cluster);
    load.receive();
    const gate = cluster.gate();
    const jobs = await Promise.all(Array.from({ length: 8 }, (_, i) => load.submitted({ task_id: `job-${i}`, type: 'hold', payload: gate.path })));
    await eventually(() => cluster.witness.starts().length === jobs.length, { what: 'all run' });
    const neighbour = await cluster.startWorker('w2', { workThreads: 10 });
    await cluster.workersConnected(2);

    await tracker.kill();
    gate.open();
    await eventually(() => worker.logged('failstore.stored').reduce((sum, line) => sum + Number(line['count']), 0) >= jobs.length, { what: 'the results are on the disk' });
    worker.kill();
    await worker.exited();
    await tracker.start();

    expect(await conclude(cluster, load)).toEqual([]);
    expect(neighbour.logged('failstore.taken_over')).toMatchObject([{ from: 'w1', entries: jobs.length, left: 0 }]);
    expect(tracker.process.logged('run.lost')).toEqual([]);
    for (const id of jobs) expect(await tracker.admin.attempts(id)).toMatchObject([{ attempt: 1, task_tracker: 'w1', outcome: 'ATTEMPT_OUTCOME_SUCCESS', message: `attempt 1 on ${worker.pid}` }]);
    expect(load.results.size).toBe(jobs.length);
    expect(cluster.witness.starts()).toHaveLength(jobs.length);
  });

  it('what the dead one had not finished begins anew then, without waiting for the grace time', async () => {
    const graceMs = 120_000;
    cluster = await Cluster.start({ graceMs });
    const worker = await cluster.startWorker('w1');
    load = new Load(cluster);
    load.receive();
    const gate = cluster.gate();
    const id = await load.submitted({ task_id: 'unfinished', type: 'hold', payload: gate.path });
    await eventually(() => cluster.witness.starts().length === 1, { what: 'it runs' });
    await cluster.startWorker('w2');
    await cluster.workersConnected(2);
    worker.kill();
    await worker.exited();
    await eventually(() => cluster.witness.starts().length === 2, { withinMs: graceMs / 2, what: 'it runs again' });
    gate.open();
    expect(await conclude(cluster, load)).toEqual([]);
    expect(await cluster.tracker('a').admin.attempts(id)).toMatchObject([{ outcome: 'ATTEMPT_OUTCOME_LOST' }, { attempt: 2, outcome: 'ATTEMPT_OUTCOME_SUCCESS', task_tracker: 'w2' }]);
  });
});
