import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { newId } from '../../shared/ids.js';
import { systemClock } from '../../shared/time/clock.js';
import { type Migration, migrations, readMigrations } from '../../services/job-tracker/queue/stores/postgres/migrate.js';
import { PostgresTools } from '../../services/job-tracker/queue/stores/postgres/postgres-tools.js';
import { eventually } from '../kit/eventually.js';
import { admit, enroll, OpenStore, owner } from './queue-store-bench.js';
import { SharedPostgres } from './queue-store-postgres-bench.js';
import { StoreProcess } from './queue-store-process.js';

const server = new SharedPostgres();
afterAll(() => server.stop());

/** The next release: it adds a column and an index, and wants to drop a column later. */
function nextRelease(): Migration[] {
  const folder = mkdtempSync(join(tmpdir(), 'lts-migrations-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const number = (ahead: number): string => String((migrations.at(-1)?.version ?? 0) + ahead).padStart(4, '0');
  writeFileSync(join(folder, `${number(1)}_add.sql`), 'ALTER TABLE lts.live ADD COLUMN extra int;\nALTER TABLE lts.instance ADD COLUMN extra int;\nCREATE INDEX live_extra ON lts.live (extra) WHERE extra IS NOT NULL;\n');
  writeFileSync(join(folder, `${number(2)}_drop.sql`), '-- contracting: only the release before last reads it\nALTER TABLE lts.worker DROP COLUMN used_at;\n');
  return [...migrations, ...readMigrations(folder)];
}

it('rolls to the next schema while a tracker of this release is at work: nothing fails, nothing is lost', async () => {
  const bench = await server.bench();
  onTestFinished(() => bench.destroy());
  const list = nextRelease();
  const columns = (table: string): Promise<{ name: string }[]> =>
    bench.sql('SELECT column_name AS name FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2', ['lts', table]);

  const old = new StoreProcess('loop', bench.url);
  onTestFinished(() => old.kill());
  await old.said(20);
  const next = bench.connect({ migrations: list });
  await next.open();
  expect((await columns('live')).map(({ name }) => name)).toContain('extra');
  const atRoll = old.acked.length;
  await old.said(atRoll + 20);
  expect(old.ended).toBe(false);
  // What takes something away waits, however often the new release starts.
  expect((await columns('worker')).map(({ name }) => name)).toContain('used_at');

  // The old one leaves; all that it was told is there, for the new one.
  await old.kill();
  const stored = new Set((await bench.sql<{ id: string }>('SELECT id FROM lts.instance')).map(({ id }) => id));
  const acked = old.acked.flatMap(({ admitted }) => admitted);
  expect(acked.length).toBeGreaterThan(0);
  expect(acked.filter((id) => !stored.has(id))).toEqual([]);
  const open = await OpenStore.of(next, { ...owner, nodeId: 'next' });
  expect(await open.one(admit({ taskId: 'after the roll' }))).toMatchObject({ result: 'accepted' });

  // An older release does not start any more on what it does not know.
  await expect(bench.connect().open()).rejects.toMatchObject({ reason: 'STORE_NEWER' });

  const wanted = { cluster: 'test', partitions: 4, requireSyncReplica: false, migrations: list };
  expect(await new PostgresTools(bench.url, false, wanted, systemClock).migrate()).toEqual([list.at(-1)?.name]);
  expect((await columns('worker')).map(({ name }) => name)).not.toContain('used_at');
});

it('begins to change the schema anew after a deadlock with a commit', async () => {
  const bench = await server.bench();
  onTestFinished(() => bench.destroy());
  await bench.connect().open();
  const commit = new pg.Client({ connectionString: bench.url });
  await commit.connect();
  await commit.query('BEGIN; LOCK TABLE lts.instance IN ROW EXCLUSIVE MODE');
  const opened = bench.connect({ migrations: nextRelease() }).open();
  const waits = async (): Promise<boolean> => (await bench.sql("SELECT 1 FROM pg_locks WHERE relation = 'lts.instance'::regclass AND NOT granted")).length > 0;
  await eventually(waits, { withinMs: 5_000, what: 'the new release waits for a table' });
  // It has waited for longer, so that it is the one that gives way.
  await commit.query('LOCK TABLE lts.live IN ROW EXCLUSIVE MODE');
  await commit.query('COMMIT');
  expect(await opened).toMatchObject({ cluster: 'test', partitions: 4 });
  await commit.end();
});

it('rolls from the schema before schedules: what it has stays, and its trackers go on admitting in their way', async () => {
  const bench = await server.bench();
  onTestFinished(() => bench.destroy());
  const before = bench.connect({ migrations: migrations.slice(0, 2) });
  await before.open();
  const [held] = await before.take([0], { ...owner, nodeId: 'former' });
  await before.close();
  /** One admit, as the release before schedules sends it. */
  const formerAdmit = (id: string): Promise<{ what: number }[]> =>
    bench.sql(
      `SELECT what FROM lts.commit('{0}', ARRAY[$2::bigint], '{g}', '{0}', '{}', '{}', 0, '{default}', '{1,0,0}', '{1,1,0,1,0,100,1,1,1,1,1,-1,0}', ARRAY[$1::text::uuid],
         ARRAY[$1::text], 'x', '{}', '{}', '{}', '{}', '{}')`,
      [id, held?.epoch],
    );
  const [old, during] = [newId(), newId()];
  expect(await formerAdmit(old)).toMatchObject([{ what: 1 }]);

  const next = bench.connect();
  await next.open();
  expect(await formerAdmit(during)).toMatchObject([{ what: 1 }]);
  const open = await OpenStore.of(next, { ...owner, nodeId: 'next' });
  for (const id of [old, during]) expect(await next.findInstance({ id })).toMatchObject({ state: 'READY', nodeGroup: 'g' });
  expect(await open.one(admit({ taskId: 'after the roll' }))).toMatchObject({ result: 'accepted' });
  expect(await open.one(enroll({ taskId: 'a schedule' }))).toMatchObject({ result: 'accepted' });
});

it('changes the schema for one of several that start at once, and not at all when a file fails', async () => {
  const bench = await server.bench();
  onTestFinished(() => bench.destroy());
  const list = nextRelease().slice(0, -1);
  const ids = await Promise.all([1, 2, 3].map(() => bench.connect({ migrations: list }).open()));
  expect(new Set(ids.map(({ storeId }) => storeId)).size).toBe(1);
  const broken: Migration[] = [...list, { version: list.length + 1, name: 'broken.sql', sql: 'CREATE TABLE lts.half (a int); SELECT 1 / 0;', contracting: false }];
  await expect(bench.connect({ migrations: broken }).open()).rejects.toMatchObject({ message: expect.stringContaining('division by zero') });
  expect(await bench.sql("SELECT to_regclass('lts.half') AS half")).toEqual([{ half: null }]);
  expect(await bench.connect({ migrations: list }).open()).toEqual(ids[0]);
});
