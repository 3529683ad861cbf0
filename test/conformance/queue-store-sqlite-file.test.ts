import Database from 'better-sqlite3';
import { closeSync, mkdirSync, openSync, readFileSync, rmdirSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openForWriting } from '../../services/job-tracker/queue/stores/sqlite/database.js';
import { LockWait } from '../../services/job-tracker/queue/stores/sqlite/lock-wait.js';
import { newId } from '../../shared/ids.js';
import { packageRoot } from '../../shared/package-root.js';
import { admit, enroll, finish, limit, OpenStore, owner } from './queue-store-bench.js';
import { SqliteBench } from './queue-store-sqlite-bench.js';

describe('the SQLite file', () => {
  let bench: SqliteBench;
  beforeEach(() => {
    bench = new SqliteBench();
  });
  afterEach(() => bench.destroy());

  /** Makes a store with some rows, closed. */
  async function filled(rows = 100): Promise<void> {
    const open = await OpenStore.of(bench.connect());
    await open.commit(Array.from({ length: rows }, (_, i) => admit({ taskId: `task-${i}` })));
    await open.store.close();
  }

  it('is synced with every commit, also when it is opened again', async () => {
    const wanted = { file: bench.file, cluster: 'test', partitions: 4 };
    for (let round = 0; round < 2; round++) {
      const { db } = openForWriting(wanted, new LockWait(bench.file, 1_000, () => undefined));
      expect(db.pragma('synchronous', { simple: true })).toBe(2);
      expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
      expect(db.pragma('locking_mode', { simple: true })).toBe('normal');
      expect(db.pragma('wal_autocheckpoint', { simple: true })).toBe(0);
      db.close();
    }
  });

  it('is made in a folder that is not there yet, and in an empty file', async () => {
    const nested = `${bench.folder}/a/b/queue.db`;
    await bench.connect({ file: nested }).open();
    expect(statSync(nested).size).toBeGreaterThan(0);
    writeFileSync(bench.file, '');
    await bench.connect().open();
    expect(statSync(bench.file).size).toBeGreaterThan(0);
  });

  it('of the first schema is brought up to date when it is opened, with what it holds', async () => {
    const file = new Database(bench.file);
    file.exec(readFileSync(join(packageRoot, 'services/job-tracker/queue/stores/sqlite/migrations/0001_initial.sql'), 'utf8'));
    file.exec(`PRAGMA user_version = 1; PRAGMA application_id = ${0x4c545351};
      INSERT INTO meta VALUES (1, 'old', 'test', 1); INSERT INTO ownership (part, epoch) VALUES (0, 7); INSERT INTO node_group VALUES (1, 'group', 0)`);
    file.close();
    const open = await OpenStore.of(bench.connect({ partitions: 1 }));
    expect(open.held).toEqual([{ partition: 0, epoch: 8 }]);
    expect((await open.store.load(0)).groups).toEqual([{ nodeGroup: 'group', waiting: 0, ready: 0 }]);
    await open.one(limit({ maxRunning: 3 }));
    expect((await open.store.load(0)).groups).toMatchObject([{ limits: { maxRunning: 3 } }]);
  });

  it('of the second schema is brought up to date with the jobs that it holds, and takes schedules', async () => {
    const [running, waiting] = [newId(), newId()];
    const file = new Database(bench.file);
    for (const name of ['0001_initial', '0002_group_limits']) {
      file.exec(readFileSync(join(packageRoot, `services/job-tracker/queue/stores/sqlite/migrations/${name}.sql`), 'utf8'));
    }
    file.exec(`PRAGMA user_version = 2; PRAGMA application_id = ${0x4c545351};
      INSERT INTO meta VALUES (1, 'old', 'test', 1); INSERT INTO ownership (part, epoch) VALUES (0, 7); INSERT INTO node_group VALUES (1, 'group', 0, 5, NULL, NULL);
      UPDATE counter SET last_seq = 2; INSERT INTO worker VALUES (1, 'w', 'i', 0);
      INSERT INTO task VALUES (1, 'running', 1, 10, NULL), (1, 'waiting', 2, 20, NULL);
      INSERT INTO executing VALUES (1, 1, 1, 1, 0, 1, 0, 0); INSERT INTO waiting VALUES (0, 20, 2, 1, 0, 0, 0)`);
    const add = file.prepare("INSERT INTO instance VALUES (?, unhex(?, '-'), 1, ?, 'default', 100, ?, 0, NULL, NULL, 0, NULL, x'')");
    add.run(1, running, 'running', 10);
    add.run(2, waiting, 'waiting', 20);
    file.close();
    const open = await OpenStore.of(bench.connect({ partitions: 1 }));
    expect(await open.store.load(0)).toMatchObject({
      groups: [{ waiting: 1, ready: 0, limits: { backlog: 5 } }], executing: [{ id: running, cancelling: true, scheduledAt: 10 }], nextDueAt: 20,
      schedules: { guarded: [], resting: [], left: [] },
    });
    expect(await open.stateOf(running)).toBe('CANCELLING');
    expect(await open.commit([enroll({ taskId: 'waiting' }), enroll(), finish(1)])).toMatchObject([{ existingId: waiting }, { result: 'accepted' }, { applied: true }]);
    expect(await open.one(admit())).toMatchObject({ result: 'duplicate' });
  });

  it('refuses the one change that damage keeps from the store, and takes the others of its commit', async () => {
    const open = await OpenStore.of(bench.connect());
    const [damaged, sound] = [await open.running({ taskId: 'damaged' }), await open.running({ taskId: 'sound' })];
    const behind = new Database(bench.file);
    behind.prepare("INSERT INTO ended (seq, state, ended_at, attempts, retry_times, lost_times, message) VALUES (?, 4, 0, 1, 0, 0, '')").run(damaged);
    behind.close();
    expect(await open.commit([finish(damaged), finish(sound)])).toEqual([
      { kind: 'refused', message: expect.stringMatching(/does not take a finish: .*UNIQUE/) },
      { kind: 'finish', applied: true },
    ]);
    expect((await open.store.load(0)).executing.map(({ seq }) => seq)).toEqual([damaged]);
  });

  it('tells how much room its disk has', async () => {
    const store = bench.connect();
    await store.open();
    expect((await store.health()).freeBytes).toBeGreaterThan(0);
  });

  it('is refused, and not touched, when another program wrote it', async () => {
    const other = new Database(bench.file);
    other.exec('CREATE TABLE mine (a)');
    other.close();
    const before = readFileSync(bench.file);
    await expect(bench.connect().open()).rejects.toMatchObject({ reason: 'STORE_FOREIGN', message: expect.stringContaining(bench.file) });
    expect(readFileSync(bench.file).equals(before)).toBe(true);
  });

  it('is refused, and not touched, when it is no database', async () => {
    writeFileSync(bench.file, 'my precious notes\n'.repeat(100));
    await expect(bench.connect().open()).rejects.toMatchObject({ reason: 'STORE_FOREIGN' });
    expect(readFileSync(bench.file, 'utf8')).toBe('my precious notes\n'.repeat(100));
  });

  it('is refused when it cannot be opened', async () => {
    mkdirSync(bench.file);
    await expect(bench.connect().open()).rejects.toMatchObject({ reason: 'STORE_FAILED', message: expect.stringContaining(bench.file) });
  });

  it('is refused when a newer version wrote it', async () => {
    await filled();
    const raw = new Database(bench.file);
    raw.pragma('user_version = 99');
    raw.close();
    await expect(bench.connect().open()).rejects.toMatchObject({ reason: 'STORE_NEWER', message: expect.stringContaining('99') });
  });

  it.each([
    ['overwritten', (file: string, size: number) => overwrite(file, size)],
    ['cut', (file: string, size: number) => truncateSync(file, Math.floor(size / 2 / 4_096) * 4_096)],
  ])('is refused when it was %s', async (_how, damage) => {
    await filled(1_000);
    damage(bench.file, statSync(bench.file).size);
    await expect(bench.connect().open()).rejects.toMatchObject({ reason: 'STORE_DAMAGED', message: expect.stringContaining('backup') });
  });

  it.each([
    ['removed', (file: string) => rmSync(file)],
    ['emptied', (file: string) => truncateSync(file, 0)],
  ])('is refused when it was %s and its log is there, which is kept', async (_how, damage) => {
    await filled();
    const log = Buffer.alloc(5_000, 1);
    writeFileSync(`${bench.file}-wal`, log);
    damage(bench.file);
    await expect(bench.connect().open()).rejects.toMatchObject({ reason: 'STORE_DAMAGED', message: expect.stringContaining('backup') });
    expect(readFileSync(`${bench.file}-wal`).equals(log)).toBe(true);
  });

  it('takes no work after a refusal, and opens once its cause has gone', async () => {
    mkdirSync(bench.file);
    const store = bench.connect();
    await expect(store.open()).rejects.toMatchObject({ reason: 'STORE_FAILED' });
    await expect(store.take([0], owner)).rejects.toMatchObject({ reason: 'STORE_FAILED', message: expect.stringContaining('not open') });
    rmdirSync(bench.file);
    expect((await OpenStore.of(store)).held).toHaveLength(4);
  });

  it('keeps its log bounded, and lets it start again when a long reader has gone', async () => {
    const open = await OpenStore.of(bench.connect());
    const reader = new Database(bench.file, { readonly: true });
    const observer = new Database(bench.file);
    const pages = () => (observer.pragma('wal_checkpoint(NOOP)') as { log: number }[])[0]?.log ?? 0;
    const fill = (batch: number) => open.commit(Array.from({ length: 900 }, (_, i) => admit({ taskId: `${batch}-${i}`, job: Buffer.alloc(4_096, i) })));
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM instance').get();
    for (let batch = 0; batch < 8; batch++) await fill(batch);
    const held = pages();
    reader.exec('COMMIT');
    for (let batch = 8; batch < 12; batch++) await fill(batch);
    expect(held).toBeGreaterThan(6_000);
    expect(pages()).toBeLessThan(6_000);
    reader.close();
    observer.close();
  });

  it('is one file with an empty log after close', async () => {
    await filled();
    expect(() => statSync(`${bench.file}-wal`)).toThrow('ENOENT');
    const raw = new Database(bench.file);
    expect(raw.pragma('integrity_check', { simple: true })).toBe('ok');
    raw.close();
  });

  it('does not grow for ever while jobs come and go', async () => {
    const open = await OpenStore.of(bench.connect());
    const sizes: number[] = [];
    // What is in the log belongs to it, whenever it is moved into the file.
    const observer = new Database(bench.file);
    for (let round = 0; round < 12; round++) {
      const jobs = Array.from({ length: 400 }, (_, i) => admit({ taskId: `${round}-${i}`, createdAt: round, dueAt: round, start: { worker: { nodeId: 'w', incarnation: 'w' }, fence: 1 } }));
      const outcomes = await open.commit(jobs);
      await open.commit(outcomes.map((outcome) => finish('seq' in outcome ? outcome.seq : 0, { at: round })));
      await open.store.purge(round, 10_000);
      sizes.push((observer.pragma('page_count', { simple: true }) as number) * 4_096);
    }
    observer.close();
    expect(sizes.at(-1)).toBeLessThan((sizes[5] ?? 0) * 1.5 + 65_536);
  });
});

/** Fills the middle of the file with what SQLite never writes. */
function overwrite(file: string, size: number): void {
  const handle = openSync(file, 'r+');
  const noise = Buffer.alloc(4_096, 0xa5);
  for (let at = 4_096 * 3; at + 4_096 <= size; at += 4_096 * 3) writeSync(handle, noise, 0, noise.length, at);
  closeSync(handle);
}
