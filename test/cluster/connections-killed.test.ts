import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { LtsError } from '../../shared/errors/lts-error.js';
import { newId } from '../../shared/ids.js';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../kit/eventually.js';
import { Cluster, group } from './cluster.js';
import { conclude } from './conclude.js';
import { DirectClient } from './direct-client.js';
import { Load } from './load.js';

const rounds = 10;

describe('somebody kills all connections of the trackers to PostgreSQL, again and again', () => {
  let cluster: Cluster;
  let open: Load | undefined;
  let database: pg.Client;

  afterEach(async () => {
    await open?.close();
    open = undefined;
    await database.end();
    await cluster.stop();
  });

  async function begin(trackers: number): Promise<void> {
    cluster = await Cluster.start({ trackers, store: 'postgres' });
    database = new pg.Client({ connectionString: cluster.postgres?.url });
    await database.connect();
  }

  async function killAll(): Promise<number> {
    const { rowCount } = await database.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'lts/%'`);
    return rowCount ?? 0;
  }

  it('they come back by themselves: nothing is lost, and jobs begin as soon as before', async () => {
    await begin(2);
    await cluster.startWorker('w1');
    const load = (open = new Load(cluster));
    load.receive();
    load.start(50);
    let killed = 0;
    for (let round = 0; round < rounds; round++) {
      const ran = cluster.witness.ends().length;
      killed += await killAll();
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

  it('who submits meanwhile is told to come again, never that the owner is another whom nobody can name', async () => {
    await begin(1);
    const [tracker] = cluster.trackers;
    const direct = await DirectClient.connect(tracker?.address ?? '');
    const refused: string[] = [];
    let stopped = false;
    // One after the other, whatever becomes of those before: some come while a commit runs and fails.
    const submitting = (async () => {
      const all: Promise<unknown>[] = [];
      for (; !stopped; await systemClock.sleep(1)) {
        const answered = direct.submit({ node_group: group, task_id: newId() }).then((answer) => {
          if (answer instanceof LtsError) refused.push(answer.reason);
          else if (answer.outcome !== 'SUBMIT_OUTCOME_ACCEPTED') refused.push(answer.outcome);
        });
        all.push(answered);
      }
      await Promise.all(all);
    })();
    const enough = async (): Promise<boolean> => {
      await killAll();
      return refused.length >= 100;
    };
    await eventually(enough, { withinMs: 60_000, everyMs: 50, what: 'enough submits were refused' });
    stopped = true;
    await submitting;
    direct.close();
    expect(refused.filter((reason) => reason !== 'LOADING' && reason !== 'STORE_FAILED')).toEqual([]);
  });
});
