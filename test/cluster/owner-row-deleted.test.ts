import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../kit/eventually.js';
import { Cluster } from './cluster.js';
import { conclude } from './conclude.js';
import { DirectClient } from './direct-client.js';
import { Load } from './load.js';

describe('somebody deletes the row that says who owns the queues', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  it('nobody hands out jobs then, rather than everybody, and the trackers say what is wrong', async () => {
    cluster = await Cluster.start({ trackers: 2 });
    const [a, b] = [cluster.tracker('a'), cluster.tracker('b')];
    const before = await a.owns();
    load = new Load(cluster);
    load.receive();
    const waiting = await Promise.all(Array.from({ length: 5 }, () => load.submitted()));
    const store = new Database(join(cluster.folder, 'store/queue.db'));
    const rows = store.prepare('SELECT * FROM ownership').all() as Record<string, number | string | null>[];
    store.prepare('DELETE FROM ownership').run();

    // The owner looks about once a second.
    await eventually(async () => (await a.epoch()) === undefined, { withinMs: 5_000, what: 'the owner has dropped what it cannot prove to own' });
    const told = await eventually(async () => (await a.admin.cluster()).degraded && (await a.admin.cluster()), { what: 'the tracker says that it is degraded' });
    expect(told.store_message).toContain('no partition 0');
    await cluster.startWorker('w1');
    const direct = await DirectClient.connect(a.address);
    expect(await direct.submit({ task_id: 'meanwhile', node_group: 'work' })).toMatchObject({ reason: 'LOADING', message: expect.stringContaining('no partition 0') });
    direct.close();
    await eventually(() => a.process.logged('store.failed').length >= 5, { what: 'it has tried to take it several times' });
    expect([await a.epoch(), await b.epoch(), cluster.witness.starts().length]).toEqual([undefined, undefined, 0]);

    // Somebody puts it back.
    const [row] = rows;
    store.prepare('INSERT INTO ownership (part, epoch, node_id, incarnation, pid, taken_at) VALUES (@part, @epoch, @node_id, @incarnation, @pid, @taken_at)').run(row);
    store.close();
    expect(await (await cluster.owner()).owns()).toBeGreaterThan(before);
    await eventually(() => waiting.every((id) => load.results.has(id)), { withinMs: 20_000, what: 'the jobs have run' });
    expect(await conclude(cluster, load)).toEqual([]);
    expect(cluster.witness.starts()).toHaveLength(waiting.length);
  });
});
