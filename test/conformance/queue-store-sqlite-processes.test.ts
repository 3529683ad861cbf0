import Database from 'better-sqlite3';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { QueueStore } from '../../services/job-tracker/queue/queue-store.js';
import type { InstanceRow } from '../../services/job-tracker/queue/status-queries.js';
import { eventually } from '../kit/eventually.js';
import { admit, allPartitions, OpenStore, owner } from './queue-store-bench.js';
import { SqliteBench } from './queue-store-sqlite-bench.js';
import { StoreProcess } from './queue-store-process.js';

/** Makes the folder a file system of so many MiB; false where this user may not mount. */
function mounted(folder: string, mebibytes: number): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Whether system calls of a child can be made to fail. */
function canInject(): boolean {
  return spawnSync('strace', ['-qq', '-o', '/dev/null', 'true']).status === 0;
}

async function allInstances(store: QueueStore): Promise<InstanceRow[]> {
  const all: InstanceRow[] = [];
  for (let before: number | undefined = Number.MAX_SAFE_INTEGER; before !== undefined; ) {
    const page: Awaited<ReturnType<QueueStore['listInstances']>> = await store.listInstances({ nodeGroup: '', taskId: '', states: [], before, limit: 1_000 });
    all.push(...page.rows);
    before = page.nextBefore;
  }
  return all;
}

describe('processes on one SQLite file', () => {
  let bench: SqliteBench;
  beforeEach(() => {
    bench = new SqliteBench();
  });
  afterEach(() => bench.destroy());

  function spawned(mode: 'loop' | 'hold', wrapper: string[] = []): StoreProcess {
    const child = new StoreProcess(mode, bench.file, wrapper);
    onTestFinished(() => child.kill());
    return child;
  }

  /** What was acked and is not there; after a check that the file is sound. */
  async function missing(acked: StoreProcess['acked']): Promise<{ lost: string[]; unfinished: string[]; unowed: string[] }> {
    const open = await OpenStore.of(bench.connect());
    const rows = await allInstances(open.store);
    const states = new Map(rows.map((row) => [row.id, row.state]));
    const lost = acked.flatMap(({ admitted }) => admitted).filter((id) => !states.has(id));
    const unfinished = acked.flatMap(({ finished }) => finished).filter((id) => states.get(id) !== 'SUCCEEDED');
    const owed = new Set((await open.store.readFeedback('clients', allPartitions, 0, Number.MAX_SAFE_INTEGER, 1_000_000)).map(({ id }) => id));
    const unowed = rows.filter(({ id, state }) => (state === 'SUCCEEDED') !== owed.has(id)).map(({ id }) => id);
    await open.store.close();
    const raw = new Database(bench.file);
    const sound = raw.pragma('integrity_check', { simple: true });
    raw.close();
    if (sound !== 'ok') throw new Error(`integrity_check: ${String(sound)}`);
    return { lost, unfinished, unowed };
  }

  it('a killed one loses nothing that it acked', async () => {
    const acked: StoreProcess['acked'] = [];
    for (const batches of [1, 7, 23, 40]) {
      const child = spawned('loop');
      await child.said(batches);
      await child.kill();
      acked.push(...child.acked);
    }
    expect(await missing(acked)).toEqual({ lost: [], unfinished: [], unowed: [] });
  });

  it('one whose disk fails to sync acks nothing that is lost', async ({ skip }) => {
    if (!canInject()) skip('strace is not here');
    const child = spawned('loop', ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=fsync,fdatasync', '-e', 'inject=fsync,fdatasync:error=EIO:when=40+40']);
    await eventually(() => child.ended, { withinMs: 30_000, what: 'the child met the failing sync' });
    expect(child.acked.length).toBeGreaterThan(2);
    expect(await missing(child.acked)).toEqual({ lost: [], unfinished: [], unowed: [] });
  });

  it('a paused one that holds the lock is named, not robbed; when it is killed the next one goes on', async () => {
    const open = await OpenStore.of(bench.connect({ lockWaitMs: 400 }));
    const holder = spawned('hold');
    await holder.said(1);
    await eventually(() => open.store.release([]).then(() => false, () => true), { what: 'the lock is held' });
    holder.signal('SIGSTOP');
    const locked = { reason: 'STORE_LOCKED', message: expect.stringContaining(`process ${holder.pid} `) };
    await expect(open.store.take([0], owner)).rejects.toMatchObject(locked);
    await expect(open.store.commit({ epochs: [{ partition: 0, epoch: 3 }], transitions: [admit()] })).rejects.toMatchObject({ ...locked, rolledBack: true });
    const waiting = open.store.take([0], owner).catch((error: unknown) => error);
    await eventually(async () => (await open.store.health()).state === 'LOCKED', { everyMs: 5 });
    expect((await open.store.health()).message).toContain(`process ${holder.pid} `);
    expect(await waiting).toMatchObject(locked);
    await expect(bench.connect({ lockWaitMs: 200 }).open()).rejects.toMatchObject(locked);
    await holder.kill();
    expect(await open.store.take([0], owner)).toMatchObject([{ partition: 0 }]);
    expect(await open.store.health()).toMatchObject({ state: 'OK', message: '' });
  });

  it('a take waits for a lock that is let go in time', async () => {
    const open = await OpenStore.of(bench.connect({ lockWaitMs: 20_000 }));
    const holder = spawned('hold');
    await holder.said(1);
    const probe = bench.connect({ lockWaitMs: 100 });
    await eventually(() => probe.open().then(() => false, () => true), { what: 'the lock is held' });
    const taking = open.store.take([0], owner);
    await eventually(async () => (await open.store.health()).state === 'LOCKED');
    await holder.kill();
    expect(await taking).toMatchObject([{ partition: 0 }]);
  });

  it('a full disk refuses a commit whole, keeps what was acked, and goes on when there is room', async ({ skip }) => {
    const folder = mkdtempSync(join(tmpdir(), 'lts-small-'));
    onTestFinished(() => rmdirSync(folder));
    if (!mounted(folder, 2)) skip('this user may not mount');
    onTestFinished(async () => {
      await small.close();
      execFileSync('umount', [folder]);
    });
    const small = new SqliteBench(folder);
    const open = await OpenStore.of(small.connect());
    const jobs = Array.from({ length: 1_000 }, (_, i) => admit({ taskId: `t${i}`, job: Buffer.alloc(4_096, i) }));
    const acked: string[] = [];
    let failure: unknown;
    for (let from = 0; failure === undefined && from < jobs.length; from += 20) {
      const some = jobs.slice(from, from + 20);
      await open.commit(some).then(
        () => acked.push(...some.map(({ id }) => id)),
        (error: unknown) => (failure = error),
      );
    }
    expect(failure).toMatchObject({ reason: 'DISK_LOW', rolledBack: true });
    expect(acked.length).toBeGreaterThan(0);
    const stored = async () => (await open.store.readReady('group', undefined, 1_000)).map(({ id }) => id);
    expect(await stored()).toEqual(acked);
    execFileSync('mount', ['-o', 'remount,size=16m', folder]);
    const more = admit({ taskId: 'more' });
    expect(await open.one(more)).toMatchObject({ result: 'accepted' });
    expect(await stored()).toEqual([...acked, more.id]);
  });
});
