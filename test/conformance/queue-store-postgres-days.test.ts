import { randomFillSync } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { idMaker } from '../../shared/ids.js';
import { systemClock } from '../../shared/time/clock.js';
import { Connection } from '../../services/job-tracker/queue/stores/postgres/connection.js';
import { dropDay } from '../../services/job-tracker/queue/stores/postgres/history-days.js';
import { admit, finish, OpenStore } from './queue-store-bench.js';
import { type PostgresBench, SharedPostgres } from './queue-store-postgres-bench.js';

const server = new SharedPostgres();
afterAll(() => server.stop());

const dayMs = 86_400_000;
/** Noon of a day long ago, and what its partitions are called. */
const noon = Date.UTC(2023, 10, 14, 12);
const date = '20231114';

describe('the days of the histories', () => {
  let bench: PostgresBench;
  let open: OpenStore;
  beforeEach(async () => {
    bench = await server.bench();
    open = await OpenStore.of(bench.connect());
    await bench.sql('SELECT lts.make_partitions($1, $1)', [noon]);
  });
  afterEach(() => bench.destroy());

  const idAt = idMaker(randomFillSync);
  const worker = { nodeId: 'w', incarnation: 'w' };
  const job = (taskId: string, values = {}) => admit({ id: idAt(noon), taskId, dueAt: noon, createdAt: noon, needFeedback: true, submitNodeGroup: 'clients', start: { worker, fence: 1 }, ...values });
  const tables = async (): Promise<string[]> => (await bench.sql<{ name: string }>(`SELECT relname AS name FROM pg_class WHERE relname ~ '_${date}$' AND relkind = 'r' ORDER BY 1`)).map(({ name }) => name);
  const rows = async (table: string): Promise<number> => (await bench.sql<{ rows: string }>(`SELECT count(*) AS rows FROM lts.${table}`)).map((row) => Number(row.rows))[0] ?? -1;

  /** Runs 300 jobs of that day; all end a minute later, but the one that lives and the one that ends two days later. */
  async function aDay(): Promise<{ live: string; late: string; gone: string }> {
    const jobs = Array.from({ length: 300 }, (_, i) => job(`t${i}`));
    await open.commit(jobs);
    const [live, late, gone] = jobs.map(({ id }) => id) as [string, string, string];
    await open.store.appendLogs([live, late, gone].map((id) => ({ id, attempt: 1, at: noon, level: 'INFO', text: `of ${id}`, truncated: false })));
    const { executing } = await open.store.load(0);
    await open.commit(executing.filter(({ id }) => id !== live).map(({ id, seq }) => finish(seq, { at: id === late ? noon + 2 * dayMs : noon + 60_000 })));
    return { live, late, gone };
  }

  it('are made ahead when the store is opened', async () => {
    const [now] = await bench.sql<{ days: string[] }>(
      "SELECT array_agg(to_char(clock_timestamp() AT TIME ZONE 'UTC' + d * interval '1 day', 'YYYYMMDD') ORDER BY d) AS days FROM generate_series(-1, 2) d",
    );
    const made = await bench.sql<{ name: string }>("SELECT relname AS name FROM pg_class WHERE relname ~ '^instance_2[0-9]{7}$' ORDER BY 1");
    expect(made.map(({ name }) => name)).toEqual(expect.arrayContaining((now?.days ?? ['none']).map((day) => `instance_${day}`)));
  });

  it('go as a whole, with all that belongs to them; what lives or ended later stays, and goes on', async () => {
    const { live, late, gone } = await aDay();
    expect(await tables()).toHaveLength(4);
    expect(await open.store.purge(noon + 13 * 3_600_000, 10)).toBe(298);
    expect(await tables()).toEqual([]);
    expect(await open.stateOf(gone)).toBeUndefined();
    expect(await rows('instance')).toBe(2);
    expect(await rows('log')).toBe(2);
    expect(await open.stateOf(live)).toBe('EXECUTING');
    expect(await open.stateOf(late)).toBe('SUCCEEDED');
    expect((await open.store.listLogs(live, 0, 0, 10)).rows.map(({ text }) => text)).toEqual([`of ${live}`]);
    expect((await open.store.listFeedback('clients', false, 1_000)).map(({ id }) => id)).toEqual([late]);
    expect(await open.one(job('t0'))).toMatchObject({ result: 'accepted', placement: 'blocked' });
    const [running] = (await open.store.load(0)).executing;
    expect(await open.one(finish(running?.seq ?? 0, { at: noon + 3 * dayMs }))).toMatchObject({ applied: true, ready: { nodeGroup: 'group' } });
    expect(await open.stateOf(live)).toBe('SUCCEEDED');
    // From the default partitions they go row by row, in their time.
    expect(await open.store.purge(noon + 2 * dayMs + 1, 10)).toBe(1);
    expect(await rows('ended')).toBe(1);
    expect(await open.stateOf(live)).toBe('SUCCEEDED');
  });

  it('stay when they are not over, also when all in them has ended', async () => {
    await aDay();
    await open.store.purge(noon + 3_600_000, 10);
    expect(await tables()).toHaveLength(4);
  });

  it('with many that are still wanted go row by row', async () => {
    const waiting = Array.from({ length: 250 }, (_, i) => job(`w${i}`, { dueAt: noon + 30 * dayMs, start: undefined }));
    await open.commit(waiting);
    await aDay();
    expect(await open.store.purge(noon + dayMs, 150)).toBe(150);
    expect(await open.store.purge(noon + dayMs, 1_000)).toBe(148);
    expect(await tables()).toHaveLength(4);
    expect(await open.stateOf(waiting[0]?.id ?? '')).toBe('WAITING');
    expect(await open.store.load(0)).toMatchObject({ groups: [{ waiting: 250 }] });
  });

  it('are not waited for: who reads them keeps them, and commits go on', async () => {
    await aDay();
    const reader = new pg.Client({ connectionString: bench.url });
    await reader.connect();
    reader.on('error', () => undefined);
    await reader.query(`BEGIN; SELECT * FROM lts.instance_${date} LIMIT 1`);
    const [deleted] = await Promise.all([open.store.purge(noon + dayMs, 10), open.admitted({ taskId: 'meanwhile' })]);
    expect(deleted).toBe(10);
    expect(await tables()).toHaveLength(4);
    await reader.end();
    // Another tracker, or this one some minutes later, drops it.
    const other = bench.connect();
    await other.open();
    expect(await other.purge(noon + dayMs, 10)).toBe(288);
    expect(await tables()).toEqual([]);
  });

  it('stay when a job of theirs arrives between the look and the lock', async () => {
    await aDay();
    const connection = await Connection.make({ url: bench.url, what: 'test', who: 'days', pooled: false, statementTimeoutMs: 0 }, systemClock);
    const late = job('late arrival');
    const meddled: Pick<Connection, 'query' | 'isLost'> = {
      isLost: false,
      query: async (text, values) => {
        if (text.startsWith('BEGIN')) await open.one(late);
        return connection.query(text, values);
      },
    };
    expect(await dropDay(meddled, noon - dayMs / 2, noon + dayMs)).toBeUndefined();
    await connection.close();
    expect(await tables()).toHaveLength(4);
    expect(await open.stateOf(late.id)).toBe('EXECUTING');
  });

  it('are dropped once when two trackers do it at the same time', async () => {
    await aDay();
    const other = bench.connect();
    await other.open();
    const gone = await Promise.all([open.store.purge(noon + dayMs, 1), other.purge(noon + dayMs, 1)]);
    expect(gone.toSorted((a, b) => b - a)[0]).toBeGreaterThanOrEqual(297);
    expect(await tables()).toEqual([]);
    expect(await rows('instance')).toBe(2);
  });
});
