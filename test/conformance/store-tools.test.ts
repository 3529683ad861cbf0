import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { newId } from '../../shared/ids.js';
import { silentLogger } from '../../shared/log/logger.js';
import { packageRoot, version } from '../../shared/package-root.js';
import { ZooKeeperRegistry } from '../../shared/registry/registries/zookeeper/zookeeper-registry.js';
import { createSqliteStore } from '../../services/job-tracker/queue/stores/sqlite/sqlite-store.js';
import { eventually } from '../kit/eventually.js';
import { ServiceProcess } from '../kit/service-process.js';
import { ZooKeeperServer } from '../kit/zookeeper.js';
import { admit, OpenStore, owner } from './queue-store-bench.js';
import { type PostgresBench, SharedPostgres } from './queue-store-postgres-bench.js';

// The command is a real process, as are the tracker, ZooKeeper and PostgreSQL.

const root = mkdtempSync(join(tmpdir(), 'lts-tools-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let count = 0;
const folder = (): string => join(root, `${count++}`);

interface Ended {
  code: number;
  out: string;
  err: string;
}

function lts(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { PATH: process.env['PATH'] };
    execFile(process.execPath, [join(packageRoot, 'dist/services/cli/main.js'), 'store', ...args], { env, timeout: 30_000 }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

describe('lts store on SQLite', () => {
  async function made(dataDir: string, jobs = 1): Promise<string> {
    const store = createSqliteStore({ file: join(dataDir, 'queue.db'), cluster: 'default', partitions: 1 });
    const open = await OpenStore.of(store);
    for (let i = 0; i < jobs; i++) await open.one(admit({ taskId: `t${i}`, job: Buffer.alloc(1_000, i) }));
    const { storeId } = await store.open();
    await store.close();
    return storeId;
  }

  it('check tells who it is; damage is found and ends with 1', async () => {
    const dataDir = folder();
    const storeId = await made(dataDir, 300);
    const whole = await lts('check', '--data-dir', dataDir, '-o', 'json');
    expect([whole.code, JSON.parse(whole.out)]).toMatchObject([0, { identity: { storeId, cluster: 'default', partitions: 1 }, problems: [] }]);
    const file = openSync(join(dataDir, 'queue.db'), 'r+');
    // The middle of the file: past the pages that every open reads.
    writeSync(file, Buffer.alloc(8_192, 0x5a), 0, 8_192, 40 * 4_096);
    const damaged = await lts('check', '--data-dir', dataDir);
    expect(damaged.code).toBe(1);
    expect(damaged.out + damaged.err).toMatch(/problem|STORE_DAMAGED/);
  });

  it('check names another cluster, and a store that is not there', async () => {
    const dataDir = folder();
    await made(dataDir);
    const other = await lts('check', '--data-dir', dataDir, '--cluster', 'other');
    expect([other.code, other.out]).toEqual([1, expect.stringMatching(/cluster "default".*"other"/)]);
    expect(await lts('check', '--data-dir', folder())).toMatchObject({ code: 3, err: expect.stringContaining('there is no store') });
  });

  it('backup copies what was confirmed, while the tracker runs, and never over a file', async () => {
    const dataDir = folder();
    const tracker = new ServiceProcess(['job-tracker', '--listen', '127.0.0.1:0', '--data-dir', dataDir]);
    onTestFinished(() => tracker.kill());
    await tracker.address();
    const copied = folder();
    const file = `${copied}.db`;
    expect(await lts('backup', '--data-dir', dataDir, '--file', file)).toMatchObject({ code: 0, out: expect.stringContaining(file) });
    expect(await lts('backup', '--data-dir', dataDir, '--file', file)).toMatchObject({ code: 4, err: expect.stringContaining('exists') });
    expect(tracker.ended).toBeUndefined();
    const { storeId } = JSON.parse((await lts('check', '--data-dir', dataDir, '-o', 'json')).out).identity;
    const store = createSqliteStore({ file, cluster: 'default', partitions: 1 });
    expect(await store.open()).toMatchObject({ storeId });
    await store.close();
    expect(existsSync(`${file}.unfinished`)).toBe(false);
  });

  it('migrate says when there is nothing to do', async () => {
    const dataDir = folder();
    expect(await lts('migrate', '--data-dir', dataDir)).toMatchObject({ code: 0, out: expect.stringContaining('ran schema 1') });
    expect(await lts('migrate', '--data-dir', dataDir)).toMatchObject({ code: 0, out: expect.stringContaining('up to date') });
  });

  it('adopt raises the epochs of all partitions, however many the settings say', async () => {
    const dataDir = folder();
    const store = createSqliteStore({ file: join(dataDir, 'queue.db'), cluster: 'default', partitions: 3 });
    await store.open();
    await store.take([1], owner);
    await store.close();
    expect(await lts('adopt', '--data-dir', dataDir)).toMatchObject({ code: 0, out: expect.stringContaining('no ZooKeeper') });
    const again = createSqliteStore({ file: join(dataDir, 'queue.db'), cluster: 'default', partitions: 3 });
    await again.open();
    expect((await again.owners()).map(({ epoch }) => epoch)).toEqual([10_000, 10_001, 10_000]);
    await again.close();
    expect(await lts('adopt', '--data-dir', folder())).toMatchObject({ code: 3, err: expect.stringContaining('there is no store') });
  });

  it('reads the file of a tracker, with keys that it does not use', async () => {
    const dataDir = folder();
    const storeId = await made(dataDir);
    const file = join(root, 'tracker.yaml');
    writeFileSync(file, `dataDir: ${dataDir}\nlisten: 127.0.0.1:0\nlogLevel: warn\n`);
    expect(await lts('check', '--config', file)).toMatchObject({ code: 0, out: expect.stringContaining(storeId) });
  });
});

describe('lts store on PostgreSQL', () => {
  const server = new SharedPostgres();
  afterAll(() => server.stop());

  async function bench(): Promise<PostgresBench> {
    const made = await server.bench();
    onTestFinished(() => made.destroy());
    return made;
  }

  const on = (url: string): string[] => ['--store', 'postgres', '--postgres-url', url, '--cluster', 'test'];

  it('check says when there is no store, or a schema of somebody else', async () => {
    const current = await bench();
    expect(await lts('check', ...on(current.url))).toMatchObject({ code: 3, err: expect.stringContaining('has no store') });
    await current.sql('CREATE SCHEMA lts CREATE TABLE mine (a int)');
    expect(await lts('check', ...on(current.url))).toMatchObject({ code: 4, err: expect.stringContaining('STORE_FOREIGN') });
  });

  it('check finds each invariant that is broken, and ends with 1', async () => {
    const current = await bench();
    const open = await OpenStore.of(current.connect());
    const lone = await open.admitted({ taskId: 'lone' });
    const seq = await open.running({ taskId: 'runs' });
    await open.admitted({ taskId: 'waits' });
    expect(await lts('check', ...on(current.url))).toMatchObject({ code: 0, out: expect.stringMatching(/state\s+OK/) });
    const [{ id } = { id: '' }] = await current.sql<{ id: string }>('SELECT id FROM lts.live WHERE seq = $1', [lone]);
    await current.sql('DELETE FROM lts.instance WHERE id = $1', [id]);
    await current.sql('UPDATE lts.live SET worker_id = NULL WHERE seq = $1', [seq]);
    await current.sql("SELECT setval('lts.seq', 1)");
    await current.sql("UPDATE lts.live SET part = 3 WHERE task_id = 'waits'");
    await current.sql('DELETE FROM lts.ownership WHERE part = 2');
    const { code, out } = await lts('check', ...on(current.url));
    expect(code).toBe(1);
    expect(out).toContain(`${id}: lives without its instance`);
    for (const problem of ['is executing without a worker', 'is behind its numbers', 'is of another partition than its group', 'partition 2: has no owner row']) expect(out).toContain(problem);
  });

  it('backup makes a file that can be restored, without showing the password', async () => {
    const current = await bench();
    const open = await OpenStore.of(current.connect());
    await open.admitted();
    const file = `${folder()}.dump`;
    const url = new URL(current.url);
    url.password = 'hush:word';
    const ended = await lts('backup', ...on(url.href), '--file', file);
    expect(ended).toMatchObject({ code: 0 });
    expect(readFileSync(file).subarray(0, 5).toString()).toBe('PGDMP');
    const away = await lts('backup', ...on('postgres://postgres:hush@127.0.0.1:1/none'), '--file', `${file}.2`);
    expect(away).toMatchObject({ code: 5, err: expect.not.stringContaining('hush') });
    expect(existsSync(`${file}.2`)).toBe(false);
  });

  it('adopt raises the epochs of all partitions; an owner that works on meanwhile is fenced', async () => {
    const current = await bench();
    const store = current.connect();
    const open = await OpenStore.of(store);
    const before = await store.owners();
    expect(await lts('adopt', ...on(current.url))).toMatchObject({ code: 0 });
    expect((await store.owners()).map(({ epoch }) => epoch)).toEqual(before.map(({ epoch }) => epoch + 10_000));
    await expect(open.one(admit({ taskId: 'late' }))).rejects.toMatchObject({ reason: 'STALE_EPOCH' });
  });

  it('names what is wrong with the address, without the password', async () => {
    expect(await lts('check', '--store', 'postgres', '--postgres-url', 'mysql://me:hush@host/x')).toMatchObject({ code: 2, err: expect.not.stringContaining('hush') });
    expect(await lts('check', '--store', 'postgres')).toMatchObject({ code: 2, err: expect.stringContaining('--postgres-url') });
  });
});

describe('lts store adopt and migrate, with ZooKeeper', () => {
  it('change the store of the cluster on purpose, and refuse while trackers stand in the way', async () => {
    const zookeeper = await ZooKeeperServer.start();
    onTestFinished(() => zookeeper.stop());
    const [first, second] = [folder(), folder()];
    for (const dataDir of [first, second]) await lts('migrate', '--data-dir', dataDir);
    const at = (dataDir: string): string[] => ['--data-dir', dataDir, '--zookeeper', zookeeper.connect];
    const idOf = async (dataDir: string): Promise<string> => JSON.parse((await lts('check', '--data-dir', dataDir, '-o', 'json')).out).identity.storeId as string;
    const [firstId, secondId] = [await idOf(first), await idOf(second)];
    expect(await lts('adopt', ...at(first))).toMatchObject({ code: 0, out: expect.stringContaining('it had none') });
    expect(await lts('adopt', ...at(second))).toMatchObject({ code: 0, out: expect.stringContaining(firstId) });

    // The tracker of the first store is refused now; the one of the second stands.
    const refused = new ServiceProcess(['job-tracker', '--listen', '127.0.0.1:0', ...at(first)]);
    onTestFinished(() => refused.kill());
    await refused.says(secondId);
    await eventually(() => refused.ended !== undefined, { withinMs: 20_000, what: 'the tracker of the other store ends' });

    const registry = new ZooKeeperRegistry({ connect: zookeeper.connect, cluster: 'default', sessionTimeoutMs: 4_000, keepTrying: true, log: silentLogger });
    onTestFinished(() => registry.close());
    await registry.start();
    const member = { kind: 'job-tracker' as const, nodeId: 'old-one', incarnation: newId(), nodeGroup: '', address: '127.0.0.1:1', version: '0.0.9', startedAt: 0 };
    const registration = registry.register(member);
    await registration.ready();
    expect(await lts('adopt', ...at(first))).toMatchObject({ code: 4, err: expect.stringMatching(/TRACKERS_RUNNING.*old-one \(0\.0\.9\)/) });
    expect(await lts('migrate', ...at(second))).toMatchObject({ code: 4, err: expect.stringMatching(/TRACKERS_RUNNING.*old-one \(0\.0\.9\)/) });
    expect(await lts('adopt', ...at(first), '--force')).toMatchObject({ code: 0, out: expect.stringContaining(secondId) });
    await registration.close();
    const same = registry.register({ ...member, version, incarnation: newId() });
    await same.ready();
    expect(await lts('migrate', ...at(second))).toMatchObject({ code: 0 });
  });
});
