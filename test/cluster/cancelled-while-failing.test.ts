import { afterEach, describe, expect, it } from 'vitest';
import { record } from '../checker/history.js';
import { Cluster, group } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

const count = 150;

describe('jobs are cancelled while their results come in', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  it('no attempt begins after the ack, however often the job would have been tried again', async () => {
    cluster = await Cluster.start();
    const { admin } = cluster.tracker('a');
    await cluster.startWorker('w1', { workThreads: 32 });
    load = new Load(cluster);
    load.receive();
    for (let i = 0; i < count; i++) {
      const id = await load.submitted({ type: 'fail', max_retry_times: 1_000, retry_policy: { delay: 1 } });
      const { outcome } = await load.client.cancel({ instance_id: id, node_group: group });
      expect(outcome).toMatch(/CANCEL_OUTCOME_CANCELL(ED|ING)/);
      record(cluster.history, 'cancelled', { kind: 'cancelled', id, done: outcome === 'CANCEL_OUTCOME_CANCELLED', attempts: (await admin.instance(id)).attempt });
    }
    expect(await conclude(cluster, load)).toEqual([]);
    expect(load.results.size).toBe(count);
    expect(new Set([...load.results.values()].map(({ state }) => state))).toEqual(new Set(['INSTANCE_STATE_CANCELLED']));
  });
});
