import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../kit/eventually.js';
import { Cluster } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

/** Changes a setting of all sessions of the server, or brings it back. */
async function set(url: string, name: string, value?: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, options: '-c default_transaction_read_only=off' });
  await client.connect();
  await client.query(value === undefined ? `ALTER SYSTEM RESET ${name}` : `ALTER SYSTEM SET ${name} = '${value}'`);
  await client.query('SELECT pg_reload_conf()');
  await client.end();
}

describe('the PostgreSQL of the trackers takes no writes for a while, then crashes', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  it('they say so, stay, and go on by themselves; nothing is lost', async () => {
    cluster = await Cluster.start({ trackers: 2, store: 'postgres', partitions: 4 });
    const { postgres } = cluster;
    if (postgres === undefined) throw new Error('no PostgreSQL');
    await cluster.startWorker('w1', { workThreads: 8 });
    load = new Load(cluster, { submitTimeout: 60_000 });
    load.receive();
    load.start(50);
    await eventually(() => cluster.witness.ends().length > 20, { what: 'work goes on' });

    await set(postgres.url, 'default_transaction_read_only', 'on');
    const owner = await cluster.ownerOf('work');
    const away = await eventually(
      async () => {
        const told = await owner.admin.cluster();
        return told.store === 'AWAY' && told;
      },
      { withinMs: 15_000, everyMs: 50, what: 'the owner says that its store is away' },
    );
    expect(away).toMatchObject({ degraded: true, store_message: expect.stringContaining('takes no writes') });
    expect(await owner.admin.explain(load.acked[0]?.instance_id ?? '')).toEqual(['WAIT_REASON_STORE_AWAY']);
    await set(postgres.url, 'default_transaction_read_only');
    const well = async (): Promise<boolean> => (await Promise.all(cluster.trackers.map(({ admin }) => admin.cluster()))).every(({ store, degraded }) => store === 'OK' && !degraded);
    await eventually(well, { withinMs: 30_000, everyMs: 100, what: 'all is well again' });
    const ran = cluster.witness.ends().length;
    await eventually(() => cluster.witness.ends().length > ran + 20, { withinMs: 30_000, what: 'work goes on after it' });

    await postgres.kill('SIGQUIT');
    await postgres.restart();
    await eventually(well, { withinMs: 30_000, everyMs: 100, what: 'all is well after the crash' });
    expect(cluster.trackers.every(({ alive }) => alive)).toBe(true);
    expect(await conclude(cluster, load)).toEqual([]);
  });
});
