import { join } from 'node:path';
import Database from 'better-sqlite3';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { partitionOf } from '../../shared/partition.js';
import { eventually } from '../kit/eventually.js';
import { Cluster, group } from './cluster.js';
import { conclude } from './conclude.js';
import { DirectClient } from './direct-client.js';
import { Load } from './load.js';

describe('somebody deletes the row that says who owns a partition', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  /** Runs a statement on the store, behind the back of its trackers. */
  async function tamper(sql: string): Promise<void> {
    if (cluster.postgres === undefined) {
      const store = new Database(join(cluster.folder, 'store/queue.db'));
      store.exec(sql);
      store.close();
      return;
    }
    const client = new pg.Client({ connectionString: cluster.postgres.url });
    await client.connect();
    await client.query(sql.replaceAll('ownership', 'lts.ownership'));
    await client.end();
  }

  it.each(['sqlite', 'postgres'] as const)('on %s: nobody hands out its jobs then, rather than everybody, and the trackers say what is wrong', async (store) => {
    cluster = await Cluster.start({ trackers: 2, store, trackerEnv: () => ({ LTS_LOG_LEVEL: 'debug' }) });
    const owner = await cluster.ownerOf(group);
    const partition = partitionOf(group, (await owner.admin.cluster()).map?.partitions ?? 1);
    load = new Load(cluster);
    load.receive();
    const waiting = await Promise.all(Array.from({ length: 5 }, () => load.submitted()));
    const epoch = (await owner.admin.cluster()).owned.find((each) => each.partition === partition)?.epoch ?? 0;
    await tamper(`DELETE FROM ownership WHERE part = ${partition}`);

    const holders = async (): Promise<string[]> => {
      const all = await Promise.all(cluster.liveTrackers.map(async ({ name, admin }) => ({ name, owned: (await admin.cluster()).owned })));
      return all.filter(({ owned }) => owned.some((each) => each.partition === partition)).map(({ name }) => name);
    };
    // The owner looks about once a second.
    await eventually(async () => (await holders()).length === 0, { withinMs: 5_000, what: 'the owner has dropped what it cannot prove to own' });
    const told = await eventually(async () => (await owner.admin.cluster()).degraded && (await owner.admin.cluster()), { what: 'the tracker says that it is degraded' });
    expect(told.store_message).toContain(`no partition ${partition}`);
    await cluster.startWorker('w1');
    const direct = await DirectClient.connect(owner.address);
    expect(await direct.submit({ task_id: 'meanwhile', node_group: group })).toMatchObject({ reason: 'LOADING', message: expect.stringContaining(`no partition ${partition}`) });
    direct.close();
    await eventually(() => owner.process.logged('store.failed').length >= 5, { what: 'it has tried to take it several times' });
    expect([await holders(), cluster.witness.starts()]).toEqual([[], []]);

    // Somebody puts it back.
    await tamper(`INSERT INTO ownership (part, epoch) VALUES (${partition}, ${epoch + 1})`);
    await eventually(() => waiting.every((id) => load.results.has(id)), { withinMs: 20_000, what: 'the jobs have run' });
    expect(await conclude(cluster, load)).toEqual([]);
    expect(cluster.witness.starts()).toHaveLength(waiting.length);
  });
});
