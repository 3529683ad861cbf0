import pg from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../kit/eventually.js';
import { admit, finish, OpenStore, owner } from './queue-store-bench.js';
import { type PostgresBench, SharedPostgres } from './queue-store-postgres-bench.js';
import { StoreProcess } from './queue-store-process.js';

const server = new SharedPostgres();
afterAll(() => server.stop());

describe('faults of PostgreSQL and its clients', () => {
  let bench: PostgresBench;
  beforeEach(async () => {
    bench = await server.bench();
  });
  afterEach(() => bench.destroy());

  const other = { ...owner, nodeId: 'tracker-2', incarnation: 'incarnation-2' };

  /** A session beside the store's. */
  async function session(name: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: bench.url, application_name: name });
    client.on('error', () => undefined);
    await client.connect();
    onTestFinished(() => client.end().catch(() => undefined));
    return client;
  }

  async function opened(who: string) {
    const store = bench.connect({ who });
    await store.open();
    return store;
  }

  const commitSessions = (who: string) =>
    bench.sql<{ pid: number; waits: boolean }>(
      "SELECT pid, coalesce(wait_event_type = 'Lock', false) AS waits FROM pg_stat_activity WHERE application_name = $1",
      [`lts/commit/${who}`],
    );

  it('a client that is paused between its commits, or inside one, holds no lock: it is fenced, not waited for', async () => {
    for (const batches of [1, 12, 31]) {
      const child = new StoreProcess('loop', bench.url);
      onTestFinished(() => child.kill());
      await child.said(batches);
      child.signal('SIGSTOP');
      const young = await opened(`young-${batches}`);
      expect(await young.take([0], other)).toMatchObject([{ partition: 0 }]);
      // It was not ended: its session is still there.
      expect(await commitSessions(String(child.pid))).toHaveLength(1);
      child.signal('SIGCONT');
      await eventually(() => child.ended, { withinMs: 20_000, what: 'the paused owner notices that it is fenced' });
      expect(child.exitCode).toBe(3);
    }
  });

  it('the one change that damage keeps from the store is refused, and the others of its commit are taken', async () => {
    const open = await OpenStore.of(bench.connect());
    const seqs: number[] = [];
    for (const taskId of ['a', 'b', 'damaged', 'c', 'd']) seqs.push(await open.running({ taskId }));
    const [, , damaged = 0] = seqs;
    await bench.sql("INSERT INTO lts.ended (seq, ended_at, id, state, attempts, retry_times, lost_times, message) SELECT seq, 0, id, 4, 1, 0, 0, '' FROM lts.live WHERE seq = $1", [damaged]);
    const outcomes = await open.commit(seqs.map((seq) => finish(seq)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['finish', 'finish', 'refused', 'finish', 'finish']);
    expect(outcomes[2]).toMatchObject({ message: expect.stringMatching(/does not take a finish: .*23505/) });
    expect((await open.store.load(0)).executing.map(({ seq }) => seq)).toEqual([damaged]);
  });

  it('a commit that hangs in the server is ended by the take-over, and nothing of it is stored', async () => {
    const old = await OpenStore.of(bench.connect({ who: 'old' }));
    const young = await opened('young');
    const blocker = await session('blocker');
    await blocker.query('BEGIN; LOCK TABLE lts.live IN ACCESS EXCLUSIVE MODE');
    const job = admit();
    const hanging = old.one(job).catch((error: unknown) => error);
    await eventually(async () => (await commitSessions('old'))[0]?.waits === true, { what: 'the commit hangs' });
    const before = await commitSessions('old');
    const since = performance.now();
    expect(await young.take([0], other)).toEqual([{ partition: 0, epoch: 2 }]);
    expect(performance.now() - since).toBeGreaterThan(450);
    expect(await hanging).toMatchObject({ reason: 'STORE_FAILED', rolledBack: false });
    await blocker.query('COMMIT');
    expect((await commitSessions('old')).map(({ pid }) => pid)).not.toContain(before[0]?.pid);
    await expect(old.one(job)).rejects.toMatchObject({ reason: 'STALE_EPOCH', rolledBack: true });
    expect(await bench.sql('SELECT id FROM lts.instance')).toEqual([]);
    expect(await young.commit({ epochs: [{ partition: 0, epoch: 2 }], transitions: [job] })).toMatchObject([{ result: 'accepted' }]);
  });

  it('a commit notes the session it runs on, so that a take-over ends the right one after a reconnect', async () => {
    const old = await OpenStore.of(bench.connect({ who: 'old' }));
    const [first] = await commitSessions('old');
    await bench.sql('SELECT pg_terminate_backend($1)', [first?.pid]);
    await eventually(async () => (await old.one(admit()).catch(() => ({ result: 'failed' }))).result !== 'failed', { what: 'the lost connection is replaced' });
    const [second] = await commitSessions('old');
    expect(second?.pid).not.toBe(first?.pid);
    expect(await bench.sql('SELECT backend_pid FROM lts.ownership WHERE part = 0')).toEqual([{ backend_pid: second?.pid }]);
  });

  it.each([
    ['is of another program', 'report', 'a.backend_start'],
    ['has got the process id of an owner that is gone', 'lts/commit/old', "a.backend_start - interval '1 h'"],
  ])('does not end a session that %s: it is named', async (_what, name, start) => {
    const stranger = await session(name);
    const store = await opened('young');
    await bench.sql(
      `UPDATE lts.ownership SET backend_pid = a.pid, backend_name = a.application_name, backend_start = ${start} FROM pg_stat_activity a
       WHERE a.application_name = $1`,
      [name],
    );
    await stranger.query('BEGIN; SELECT FROM lts.ownership FOR UPDATE');
    const { rows } = await stranger.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await expect(store.take([0], owner)).rejects.toMatchObject({ reason: 'STORE_LOCKED', message: expect.stringContaining(`session ${rows[0]?.pid}`) });
    await stranger.query('COMMIT');
    expect(await store.take([0], owner)).toEqual([{ partition: 0, epoch: 1 }]);
  });
});
