import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../kit/eventually.js';
import { Cluster } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

const running = 100;
/** Of the workers of a Cluster. */
const workerGraceMs = 5_000;

describe('SIGTERM comes while 100 tasks run', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  async function begin(payload: string): Promise<void> {
    load = new Load(cluster);
    load.receive();
    await Promise.all(Array.from({ length: running }, () => load.submitted({ type: 'slow', payload })));
    await eventually(() => cluster.witness.starts().length === running, { what: 'all run' });
  }

  it('the worker lets them finish and loses no result', async () => {
    cluster = await Cluster.start();
    const worker = await cluster.startWorker('w1', { workThreads: running });
    await begin('2500');
    expect(await worker.stop(workerGraceMs + 3_000)).toBe(0);
    expect(await conclude(cluster, load)).toEqual([]);
    expect(cluster.witness.starts()).toHaveLength(running);
    expect(load.results.size).toBe(running);
  });

  it('the worker aborts those that take too long, leaves in time, and they run elsewhere', async () => {
    cluster = await Cluster.start();
    const worker = await cluster.startWorker('w1', { workThreads: running });
    await begin('9000');
    const left = worker.stop(workerGraceMs + 5_000);
    await cluster.startWorker('w2', { workThreads: running });
    expect(await left).toBe(0);
    await eventually(() => cluster.witness.starts().length === 2 * running, { withinMs: 15_000, what: 'all run again' });
    expect(await conclude(cluster, load)).toEqual([]);
    const { admin } = cluster.tracker('a');
    for (const { instance_id: id } of load.acked.slice(0, 5)) {
      expect(await admin.attempts(id ?? '')).toMatchObject([{ outcome: 'ATTEMPT_OUTCOME_INTERRUPTED' }, { attempt: 2, outcome: 'ATTEMPT_OUTCOME_SUCCESS' }]);
    }
  });

  it('the tracker leaves at once, and the results come to the restarted one', async () => {
    cluster = await Cluster.start();
    const a = cluster.tracker('a');
    await cluster.startWorker('w1', { workThreads: running });
    await begin('2500');
    expect(await a.process.stop(5_000)).toBe(0);
    await a.start();
    expect(await conclude(cluster, load)).toEqual([]);
    expect(cluster.witness.starts()).toHaveLength(running);
    expect(load.results.size).toBe(running);
    expect((await a.admin.instances()).filter(({ attempt }) => attempt !== 1)).toEqual([]);
  });
});
