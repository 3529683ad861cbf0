import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { newId } from '../../shared/ids.js';
import { systemClock } from '../../shared/time/clock.js';
import { CommitFailed, type QueueStore } from '../../services/job-tracker/queue/queue-store.js';
import { ServerHealth } from '../../services/job-tracker/queue/stores/postgres/health.js';
import { Lanes } from '../../services/job-tracker/queue/stores/postgres/lanes.js';
import { createPostgresStore, type PostgresStoreOptions } from '../../services/job-tracker/queue/stores/postgres/postgres-store.js';
import { eventually } from '../kit/eventually.js';
import { type Postgres, postgresPrograms, startPostgres } from '../kit/postgres.js';
import { TcpProxy } from '../kit/tcp-proxy.js';
import { admit, finish, OpenStore, owner } from './queue-store-bench.js';

/** Faults of the server itself: each test has a server of its own, really crashed, really read-only. */

async function server(settings: Record<string, string> = {}): Promise<Postgres> {
  const made = await startPostgres({ settings });
  onTestFinished(() => made.stop());
  return made;
}

function connect(url: string, options: Partial<PostgresStoreOptions> = {}): QueueStore {
  const store = createPostgresStore({ url, cluster: 'test', partitions: 4, ...options });
  onTestFinished(() => store.close());
  return store;
}

/** A session beside the store's. */
async function session(url: string, name = 'beside'): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: name, options: '-c default_transaction_read_only=off' });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end().catch(() => undefined));
  return client;
}

async function sql<R extends pg.QueryResultRow>(url: string, text: string): Promise<R[]> {
  const client = await session(url);
  const { rows } = await client.query<R>(text);
  await client.end();
  return rows;
}

/** Changes a setting of all sessions, or brings it back. */
async function set(url: string, name: string, value?: string): Promise<void> {
  await sql(url, value === undefined ? `ALTER SYSTEM RESET ${name}` : `ALTER SYSTEM SET ${name} = '${value}'`);
  await sql(url, 'SELECT pg_reload_conf()');
}

type Told = 'stored' | 'not stored' | 'unknown';

/** Commits one job after the other, a few at a time, and keeps what the store said of each. */
class Load {
  readonly told = new Map<string, Told>();
  readonly #open: OpenStore;
  #stopped = false;
  readonly #done: Promise<unknown>;

  constructor(open: OpenStore) {
    this.#open = open;
    this.#done = Promise.all([1, 2, 3].map(() => this.#run()));
  }

  count(what: Told): number {
    return [...this.told.values()].filter((told) => told === what).length;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const id = newId();
      await this.#open.one(admit({ id, taskId: id })).then(
        () => this.told.set(id, 'stored'),
        (error: unknown) => this.told.set(id, error instanceof CommitFailed && error.rolledBack ? 'not stored' : 'unknown'),
      );
    }
  }
}

async function expectTruth(url: string, told: ReadonlyMap<string, Told>): Promise<void> {
  const stored = new Set((await sql<{ id: string }>(url, 'SELECT id FROM lts.instance')).map(({ id }) => id));
  const of = (what: Told): string[] => [...told].filter(([, said]) => said === what).map(([id]) => id);
  expect(of('stored').filter((id) => !stored.has(id))).toEqual([]);
  expect(of('not stored').filter((id) => stored.has(id))).toEqual([]);
}

describe('a PostgreSQL that fails', () => {
  it('crashes under commits: nothing that was confirmed is lost, nothing that was denied is there', async () => {
    const made = await server();
    const load = new Load(await OpenStore.of(connect(made.url)));
    for (let round = 1; round <= 3; round++) {
      const before = load.count('stored');
      await eventually(() => load.count('stored') >= before + 20, { withinMs: 30_000, what: `commits of round ${round}` });
      await made.kill('SIGQUIT');
      await made.restart();
    }
    const before = load.count('stored');
    await eventually(() => load.count('stored') >= before + 20, { withinMs: 30_000, what: 'commits after the last crash' });
    await load.stop();
    expect(load.count('unknown')).toBeGreaterThan(0);
    await expectTruth(made.url, load.told);
  });

  it('turns read-only and back: AWAY meanwhile, and at work again by itself', async () => {
    const made = await server();
    const open = await OpenStore.of(connect(made.url, { answerWithinMs: 2_000 }));
    await set(made.url, 'default_transaction_read_only', 'on');
    const job = admit();
    await expect(open.one(job)).rejects.toMatchObject({ rolledBack: true });
    const health = await eventually(async () => {
      const now = await open.store.health();
      return now.state === 'AWAY' && now;
    });
    expect(health.message).toMatch(/25006.*takes no writes/);
    await set(made.url, 'default_transaction_read_only');
    await eventually(async () => (await open.store.health()).state === 'OK', { withinMs: 20_000, what: 'the store is itself again' });
    expect(await open.one(job)).toMatchObject({ result: 'accepted' });
  });

  it('ends the session of a commit: its outcome is unknown, the next one runs on a new session', async () => {
    const made = await server();
    const open = await OpenStore.of(connect(made.url, { who: 'x' }));
    const blocker = await session(made.url);
    await blocker.query('BEGIN; LOCK TABLE lts.instance');
    const [first, second] = [admit(), admit({ taskId: 'second' })];
    const outcome = open.one(first).catch((error: unknown) => error);
    const pid = await eventually(async () => (await sql<{ pid: number }>(made.url, "SELECT pid FROM pg_stat_activity WHERE application_name = 'lts/commit/x' AND wait_event_type = 'Lock'"))[0]?.pid);
    await sql(made.url, `SELECT pg_terminate_backend(${pid})`);
    expect(await outcome).toMatchObject({ reason: 'STORE_FAILED', rolledBack: false, message: expect.stringContaining('57P01') });
    await blocker.query('COMMIT');
    expect(await open.one(second)).toMatchObject({ result: 'accepted' });
    expect(await open.stateOf(first.id)).toBeUndefined();
  });

  it('holds a lock: a commit is given up by the server in time, and nothing of it is stored', async () => {
    const made = await server();
    const open = await OpenStore.of(connect(made.url, { answerWithinMs: 1_500 }));
    const blocker = await session(made.url);
    await blocker.query('BEGIN; LOCK TABLE lts.instance');
    const job = admit();
    await expect(open.one(job)).rejects.toMatchObject({ reason: 'STORE_LOCKED', rolledBack: true });
    await blocker.query('COMMIT');
    expect(await open.stateOf(job.id)).toBeUndefined();
    expect(await open.one(job)).toMatchObject({ result: 'accepted' });
  });

  it('holds a lock where the server gives nothing up: the outcome is unknown until the partition is taken again', async () => {
    const made = await server();
    const open = await OpenStore.of(connect(made.url, { answerWithinMs: 1_000, pooled: true }));
    const blocker = await session(made.url);
    await blocker.query('BEGIN; LOCK TABLE lts.instance');
    const job = admit();
    await expect(open.one(job)).rejects.toMatchObject({ reason: 'STORE_FAILED', rolledBack: false, message: expect.stringMatching(/no answer within \d+ ms/) });
    await blocker.query('COMMIT');
    const [held] = await open.store.take([0], owner);
    expect(held?.epoch).toBe(2);
    const { groups } = await open.store.load(0);
    const isStored = (await open.stateOf(job.id)) !== undefined;
    expect(groups.reduce((sum, { ready }) => sum + ready, 0)).toBe(isStored ? 1 : 0);
    // What is known now stays so: the old commit cannot come any more.
    await expect(open.one(admit({ taskId: 'late' }))).rejects.toMatchObject({ reason: 'STALE_EPOCH' });
  });

  it('has its answer lost on the way: stored, but unknown; half open: unknown by the deadline', async () => {
    const made = await server();
    const proxy = await TcpProxy.start(made.port);
    onTestFinished(() => proxy.stop());
    const url = new URL(made.url);
    url.port = String(proxy.port);
    const open = await OpenStore.of(connect(url.href, { answerWithinMs: 1_500 }));
    const lost = admit({ taskId: 'lost' });
    proxy.swallowOnce('down');
    await expect(open.one(lost)).rejects.toMatchObject({ rolledBack: false });
    await eventually(() => open.stateOf(lost.id), { what: 'the commit whose answer was lost is stored' });
    // It stalls right after the log-in, while the new connection is looked at: that one is given up, too.
    let looks = 0;
    proxy.tap = (direction, bytes) => {
      if (direction === 'up' && bytes.includes('pg_is_in_recovery') && ++looks === 1) proxy.blackhole();
    };
    proxy.cut();
    const tries = proxy.accepted;
    await expect(open.one(admit({ taskId: 'early' }))).rejects.toBeInstanceOf(CommitFailed);
    await eventually(() => looks > 0 && proxy.accepted > tries + 1, { withinMs: 15_000, what: 'another try to connect' });
    proxy.heal();
    await eventually(async () => (await open.store.health()).state === 'OK', { withinMs: 20_000, what: 'the store is back' });
    const stalled = admit({ taskId: 'stalled' });
    proxy.blackhole();
    await expect(open.one(stalled)).rejects.toMatchObject({ rolledBack: false, message: expect.stringContaining('no answer within') });
    // Not sent: there is no connection to send it on.
    await expect(open.one(admit({ taskId: 'unsent' }))).rejects.toMatchObject({ rolledBack: true });
    proxy.heal();
    await eventually(() => open.one(stalled).catch(() => undefined), { withinMs: 20_000, what: 'commits go through again' });
    expect(await open.stateOf(stalled.id)).toBe('READY');
  });

  it('is not there at first: calls wait for it, and the store opens when it is', async () => {
    const made = await server();
    await made.kill('SIGQUIT');
    const store = connect(made.url);
    await expect(store.open()).rejects.toMatchObject({ reason: 'STORE_FAILED', message: expect.stringContaining('ECONNREFUSED') });
    await made.restart();
    expect(await store.open()).toMatchObject({ cluster: 'test' });
  });
});

describe('a PostgreSQL that is not fit', () => {
  it('is refused when it can lose what it confirmed, naming the setting', async () => {
    const made = await server({ fsync: 'off' });
    await expect(connect(made.url).open()).rejects.toMatchObject({ reason: 'STORE_UNSAFE', message: expect.stringContaining('fsync') });
    const sound = await server();
    for (const name of ['full_page_writes', 'synchronous_commit']) {
      await set(sound.url, name, 'off');
      await eventually(async () => (await sql<{ value: string }>(sound.url, `SELECT current_setting('${name}') AS value`))[0]?.value === 'off');
      await expect(connect(sound.url).open()).rejects.toMatchObject({ reason: 'STORE_UNSAFE', message: expect.stringContaining(name) });
      await set(sound.url, name);
    }
    await set(sound.url, 'default_transaction_isolation', 'serializable');
    await eventually(async () => (await sql<{ value: string }>(sound.url, "SELECT current_setting('default_transaction_isolation') AS value"))[0]?.value === 'serializable');
    await expect(connect(sound.url).open()).rejects.toMatchObject({ reason: 'CONFIG_INVALID', message: expect.stringContaining('default_transaction_isolation is serializable') });
    await set(sound.url, 'default_transaction_isolation');
    await eventually(() => connect(sound.url).open().catch(() => undefined), { what: 'a sound server is taken' });
  });

  it('is refused in another encoding, or with a wrong user; one that is new is made once by three at the same time', async () => {
    const made = await server();
    await sql(made.url, "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    await expect(connect(new URL('/latin', made.url).href).open()).rejects.toMatchObject({ reason: 'CONFIG_INVALID', message: expect.stringContaining('LATIN1') });
    await expect(connect(made.url.replace('postgres@', 'nobody:hush@')).open()).rejects.toMatchObject({ reason: 'CONFIG_INVALID', message: expect.not.stringContaining('hush') });
    await sql(made.url, 'CREATE ROLE weak LOGIN');
    await expect(connect(made.url.replace('postgres@', 'weak@')).open()).rejects.toMatchObject({ reason: 'CONFIG_INVALID', message: expect.stringContaining('grant') });
    await sql(made.url, 'CREATE DATABASE prepared');
    const prepared = new URL('/prepared', made.url).href;
    await sql(prepared, 'CREATE SCHEMA lts AUTHORIZATION weak');
    expect(await connect(prepared.replace('postgres@', 'weak@')).open()).toMatchObject({ cluster: 'test' });
    const ids = await Promise.all([1, 2, 3].map(() => connect(made.url).open()));
    expect(new Set(ids.map(({ storeId }) => storeId)).size).toBe(1);
  });

  it('warns of replicas that commits do not wait for; with --require-sync-replica it is refused', async () => {
    const made = await server();
    const store = connect(made.url);
    await store.open();
    await expect(connect(made.url, { requireSyncReplica: true }).open()).rejects.toMatchObject({ reason: 'STORE_UNSAFE', message: expect.stringContaining('synchronous_standby_names') });
    expect((await store.health()).warnings).toEqual([]);
    // A replica that only keeps the log is one for the server.
    const folder = mkdtempSync(join(tmpdir(), 'lts-wal-'));
    const receiver = spawn(join(postgresPrograms(), 'pg_receivewal'), ['-D', folder, '--synchronous', '-d', `${made.url}?application_name=standby`], { stdio: 'ignore' });
    onTestFinished(() => {
      receiver.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    });
    const warned = await eventually(async () => (await store.health()).warnings[0], { withinMs: 20_000, what: 'the warning' });
    expect(warned).toMatchObject({ reason: 'ACKS_NOT_REPLICATED', message: expect.stringContaining('synchronous_standby_names') });
    await set(made.url, 'synchronous_standby_names', 'standby');
    expect(await connect(made.url, { requireSyncReplica: true }).open()).toMatchObject({ cluster: 'test' });
    await eventually(async () => (await store.health()).warnings.length === 0, { withinMs: 20_000, what: 'no warning any more' });
  });
});

describe('the health of PostgreSQL', () => {
  it.each(['synchronous_commit', 'full_page_writes', 'fsync'])('warns when %s is turned off later', async (name) => {
    const made = await server();
    const store = connect(made.url);
    await store.open();
    expect((await store.health()).warnings).toEqual([]);
    await set(made.url, name, 'off');
    const [warning] = await eventually(async () => (await store.health()).warnings.length > 0 && (await store.health()).warnings, { what: 'the warning' });
    expect(warning).toMatchObject({ reason: 'ACKS_NOT_DURABLE', message: `${name} is off, so the server can lose what it has confirmed; set ${name} = on` });
    await set(made.url, name);
    await eventually(async () => (await store.health()).warnings.length === 0, { what: 'no warning any more' });
  });

  let url = '';
  const made = startPostgres();
  afterAll(async () => (await made).stop());

  it('warns of a snapshot that is held for long, naming the session; the queues still answer', async () => {
    ({ url } = await made);
    const open = await OpenStore.of(connect(url));
    const lanes = new Lanes({ url, pooled: false, who: 'health', clock: systemClock, answerWithinMs: 5_000 });
    onTestFinished(() => lanes.close());
    const health = new ServerHealth(lanes, systemClock, false, { longSnapshotMs: 300, clockOffsetMs: 5_000 });
    const reader = await session(url, 'a report');
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM lts.meta');
    const [{ pid } = { pid: 0 }] = (await reader.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows;
    for (let round = 0; round < 10; round++) {
      const jobs = Array.from({ length: 200 }, (_, i) => admit({ taskId: `${i}`, start: { worker: { nodeId: 'w', incarnation: 'w' }, fence: 1 } }));
      await open.commit(jobs);
      await open.commit((await open.store.load(0)).executing.map(({ seq }) => finish(seq)));
    }
    const warning = await eventually(async () => (await health.read()).warnings[0], { withinMs: 15_000, what: 'the warning' });
    expect(warning).toMatchObject({ reason: 'LONG_SNAPSHOT', message: expect.stringMatching(new RegExp(`session ${pid} \\(a report\\)`)) });
    await open.admitted({ taskId: 'after' });
    expect(await open.store.readReady('group', undefined, 10)).toHaveLength(1);
    await reader.query('COMMIT');
    await eventually(async () => (await health.read()).warnings.length === 0, { withinMs: 15_000, what: 'no warning any more' });
  });

  it('measures how far the clocks are apart, and warns', async () => {
    ({ url } = await made);
    const store = connect(url);
    await store.open();
    const near = await store.health();
    expect(Math.abs(near.clockOffsetMs)).toBeLessThan(1_000);
    expect(near.warnings).toEqual([]);
    const clock = { ...systemClock, now: () => systemClock.now() - 10_000, monotonic: () => systemClock.monotonic(), after: systemClock.after.bind(systemClock), sleep: systemClock.sleep.bind(systemClock) };
    const behind = connect(url, { clock });
    await behind.open();
    const far = await behind.health();
    expect(Math.abs(far.clockOffsetMs - 10_000)).toBeLessThan(1_000);
    expect(far.warnings).toMatchObject([{ reason: 'CLOCK_OFFSET', message: expect.stringContaining('ahead') }]);
  });
});
