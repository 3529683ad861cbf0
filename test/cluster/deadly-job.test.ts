import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../kit/eventually.js';
import type { ServiceProcess } from '../kit/service-process.js';
import { Cluster } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

describe('a job kills every worker it meets', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  it('ends LOST after max_lost attempts, and the other jobs survive', async () => {
    cluster = await Cluster.start({ graceMs: 1_000 });
    const { admin } = cluster.tracker('a');
    const workers = new Map<string, ServiceProcess>();
    for (const name of ['w1', 'w2']) workers.set(name, await cluster.startWorker(name));
    await cluster.workersConnected(2);
    load = new Load(cluster);
    load.receive();
    // Those that were handed out beside it share its losses.
    load.start(40, () => ({ max_lost: 10 }));
    const deadly = await load.submitted({ task_id: 'deadly', type: 'crash', priority: 1, max_lost: 3 });
    const once = await load.submitted({ task_id: 'deadly-once', type: 'crash', priority: 1, on_worker_loss: 'FAIL' });

    // Whoever keeps the workers running starts each again when it has died.
    await eventually(
      async () => {
        for (const [name, worker] of workers) if (worker.ended !== undefined) workers.set(name, await cluster.startWorker(name));
        return load.results.has(deadly) && load.results.has(once);
      },
      { withinMs: 60_000, everyMs: 50, what: 'both deadly jobs have ended' },
    );
    await eventually(() => load.results.size > 100, { withinMs: 20_000, what: 'the others go on' });

    expect(await conclude(cluster, load)).toEqual([]);
    expect(await admin.instance(deadly)).toMatchObject({ state: 'INSTANCE_STATE_LOST', attempt: 3, lost_times: 3 });
    expect(await admin.instance(once)).toMatchObject({ state: 'INSTANCE_STATE_LOST', attempt: 1 });
    expect(cluster.witness.starts('deadly')).toHaveLength(3);
    expect(cluster.witness.starts('deadly-once')).toHaveLength(1);
    const others = (await admin.instances()).filter(({ job }) => job?.type === 'quick');
    expect(others.length).toBeGreaterThan(90);
    expect(others.filter(({ state }) => state !== 'INSTANCE_STATE_SUCCEEDED')).toEqual([]);
  });
});
