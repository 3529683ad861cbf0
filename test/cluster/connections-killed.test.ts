import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../kit/eventually.js';
import { Cluster } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

const rounds = 10;

describe('somebody kills all connections of the trackers to PostgreSQL, again and again', () => {
  let cluster: Cluster;
  let load: Load;
  let database: pg.Client;

  afterEach(async () => {
    await load.close();
    await database.end();
    await cluster.stop();
  });

  it('they come back by themselves: nothing is lost, and jobs begin as soon as before', async () => {
    cluster = await Cluster.start({ trackers: 2, store: 'postgres' });
    database = new pg.Client({ connectionString: cluster.postgres?.url });
    await database.connect();
    await cluster.startWorker('w1');
    load = new Load(cluster);
    load.receive();
    load.start(50);
    let killed = 0;
    for (let round = 0; round < rounds; round++) {
      const ran = cluster.witness.ends().length;
      const { rowCount } = await database.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'lts/%'`);
      killed += rowCount ?? 0;
      await eventually(() => cluster.witness.ends().length > ran + 20, { withinMs: 15_000, what: `work goes on after round ${round}` });
    }
    expect(killed).toBeGreaterThanOrEqual(2 * rounds);
    await load.stop();

    const before = systemClock.monotonic();
    const id = await load.submitted({ task_id: 'afterwards' });
    await eventually(() => load.results.has(id), { withinMs: 5_000, everyMs: 5 });
    expect(systemClock.monotonic() - before).toBeLessThan(1_000);
    expect(await conclude(cluster, load)).toEqual([]);
    expect(load.failures).toEqual([]);
    // A commit of unknown outcome may have recorded an attempt that was never sent: it is sent again, not run twice.
    expect(cluster.witness.starts()).toHaveLength(load.acked.length);
  });
});
