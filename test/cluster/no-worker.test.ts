import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../shared/time/clock.js';
import { Caller } from '../interop/caller.js';
import { eventually } from '../kit/eventually.js';
import { Cluster } from './cluster.js';

const jobs = 50;

describe('nobody runs the jobs of a group', () => {
  let cluster: Cluster;
  let caller: Caller;

  afterEach(async () => {
    caller.close();
    await cluster.stop();
  });

  it('they wait as what they are: no row, attempt or write is made for them, and the tracker says why', async () => {
    cluster = await Cluster.start({ graceMs: 500 });
    const tracker = cluster.tracker('a');
    caller = new Caller(tracker.address);
    await caller.call('JobService/SubmitJobs', { jobs: Array.from({ length: jobs }, (_, i) => ({ task_id: `t-${i}`, node_group: 'nobody', max_retry_times: 1_000, retry_policy: { delay: 1 } })) });
    const { instances: [first] } = await caller.call<{ instances: { instance_id: string }[] }>('AdminService/ListInstances', { page_size: 1 });
    const told = await caller.call('AdminService/ExplainInstance', { instance_id: first?.instance_id });
    expect(JSON.stringify(told)).toContain('WAIT_REASON_NO_WORKER');

    const store = new Database(join(cluster.folder, 'store/queue.db'), { readonly: true });
    // Grows with every commit of another connection.
    const commits = (): number => store.pragma('data_version', { simple: true }) as number;
    const before = commits();
    const since = systemClock.monotonic();
    // A stretch in which nothing may happen: its timers tick five times and more, and the grace time passes ten times.
    await eventually(() => systemClock.monotonic() - since > 5_000);
    expect(commits() - before).toBeLessThan(3);
    store.close();

    const instances = await tracker.admin.instances();
    expect(instances.length).toBe(jobs);
    expect(instances.filter(({ state, attempt }) => state !== 'INSTANCE_STATE_READY' || attempt !== 0)).toEqual([]);
  });
});
