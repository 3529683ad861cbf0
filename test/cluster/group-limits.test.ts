import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../../shared/package-root.js';
import { eventually } from '../kit/eventually.js';
import { Cluster, group, type Tracker } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

/** The command itself, against one tracker. */
async function lts(tracker: Tracker, ...args: string[]): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(packageRoot, 'dist/services/cli/main.js'), ...args, '-o', 'json', '--target', tracker.address]);
  return JSON.parse(stdout);
}

describe('limits of a group', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  /** Most runs that were going on at once. */
  function mostAtOnce(): number {
    let [running, most] = [0, 0];
    for (const { kind } of cluster.witness.lines()) most = Math.max(most, (running += kind === 'start' ? 1 : -1));
    return most;
  }

  it('hold over all workers, are told, and are kept by the next owner', async () => {
    cluster = await Cluster.start({ trackers: 2 });
    const [a, b] = [cluster.tracker('a'), cluster.tracker('b')];
    await a.owns();
    expect(await lts(a, 'queue', 'limit', group, '--max-running', '3', '--backlog', '20')).toEqual({ backlog: 20, max_running: 3 });
    for (const name of ['w1', 'w2']) await cluster.startWorker(name);
    await cluster.workersConnected(2);
    load = new Load(cluster, { submitTimeout: 5_000 });
    load.receive();
    const gate = cluster.gate();
    const held = (count: number, from: number): Promise<string[]> => Promise.all(Array.from({ length: count }, (_, i) => load.submitted({ task_id: `held-${from + i}`, type: 'hold', payload: gate.path })));
    const ids = await held(8, 0);
    await eventually(() => cluster.witness.starts().length === 3, { what: 'three run' });
    expect(await a.admin.queues()).toMatchObject([{ node_group: group, executing: 3, ready: 5, limits: { max_running: 3, backlog: 20 } }]);
    const ready = (await a.admin.instances()).find(({ state }) => state === 'INSTANCE_STATE_READY');
    expect(await lts(a, 'job', 'explain', ready?.instance_id ?? '')).toMatchObject({
      causes: expect.arrayContaining([expect.objectContaining({ reason: 'WAIT_REASON_MAX_RUNNING', message: expect.stringMatching(/3 tasks .* max_running is 3/) })]),
    });

    await a.kill();
    await b.owns();
    await held(4, 8);
    await cluster.workersConnected(2);
    await eventually(async () => (await b.admin.queues())[0]?.ready === 9, { what: 'the next owner holds them' });
    expect(cluster.witness.starts()).toHaveLength(3);
    expect(ids).toHaveLength(8);

    gate.open();
    expect(await conclude(cluster, load)).toEqual([]);
    expect(mostAtOnce()).toBe(3);
    expect(await lts(b, 'queue', 'limit', group, '--max-running', 'none', '--starts-per-second', '10')).toEqual({ backlog: 20, starts_per_second: 10 });
  });

  it('slow starts down to a rate, refuse what is too much, and let go when they are removed', async () => {
    cluster = await Cluster.start();
    const a = cluster.tracker('a');
    await lts(a, 'queue', 'limit', group, '--starts-per-second', '10', '--backlog', '15');
    await cluster.startWorker('w1', { workThreads: 16 });
    await cluster.workersConnected(1);
    load = new Load(cluster, { submitTimeout: 2_000 });
    load.receive();
    await Promise.all(Array.from({ length: 40 }, () => load.submit()));
    expect(load.failures.length).toBeGreaterThan(0);
    expect(load.failures[0]).toMatch(/limit is 15; .*lts queue limit work --backlog/);
    await eventually(() => cluster.witness.starts().length === load.acked.length, { what: 'all ran' });
    const times = cluster.witness.starts().map(({ at }) => at);
    // Any 11 starts take a second, but for how late a timer and a worker may be in between.
    for (let i = 10; i < times.length; i++) expect((times[i] as number) - (times[i - 10] as number)).toBeGreaterThan(700);
    expect(await lts(a, 'queue', 'limit', group, '--starts-per-second', 'none', '--backlog', 'none')).toEqual({});
    const before = cluster.witness.starts().length;
    await Promise.all(Array.from({ length: 60 }, () => load.submitted()));
    await eventually(() => cluster.witness.starts().length === before + 60, { withinMs: 3_000, what: 'nothing holds them' });
    expect(await conclude(cluster, load)).toEqual([]);
  });
});
