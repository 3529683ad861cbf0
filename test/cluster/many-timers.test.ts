import { afterEach, describe, expect, it } from 'vitest';
import { JobClient } from '../../services/job-client/index.js';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../kit/eventually.js';
import { Cluster, group } from './cluster.js';

const timers = 100_000;
const batch = 1_000;
/** Within so many milliseconds from their submission they come due: the first ones while others are still added. */
const spreadMs = 5_000;

describe('100,000 timed jobs are added while others come due', () => {
  let cluster: Cluster;
  let client: JobClient;

  afterEach(async () => {
    await client.close();
    await cluster.stop();
  });

  it('each fires, and once', async () => {
    cluster = await Cluster.start();
    const { admin } = cluster.tracker('a');
    await cluster.startWorker('w1', { workThreads: 200 });
    client = new JobClient({ trackers: cluster.addresses, submitTimeout: 30_000 });
    const ids: string[] = [];
    for (let from = 0; from < timers; from += batch) {
      const now = systemClock.now();
      const jobs = Array.from({ length: batch }, (_, i) => ({ task_id: `t-${from + i}`, node_group: group, type: 'silent', trigger_time: now + ((i * 7_919) % spreadMs) }));
      for (const { instance_id, outcome } of await client.submitMany(jobs)) {
        expect(outcome).toBe('SUBMIT_OUTCOME_ACCEPTED');
        ids.push(instance_id ?? '');
      }
    }
    const left = async (): Promise<number> => (await admin.queues()).reduce((sum, { waiting, ready, executing }) => sum + waiting + ready + executing, 0);
    await eventually(async () => (await left()) === 0, { withinMs: 60_000, everyMs: 200, what: 'nothing waits or runs any more' });

    const instances = await admin.instances();
    expect(instances.length).toBe(timers);
    expect(instances.filter(({ state, attempt }) => state !== 'INSTANCE_STATE_SUCCEEDED' || attempt !== 1)).toEqual([]);
    expect(new Set(instances.map(({ instance_id }) => instance_id))).toEqual(new Set(ids));
    // None before its time, by one clock.
    expect(instances.filter(({ ended_at, due_at }) => ended_at < due_at)).toEqual([]);
  });
});
