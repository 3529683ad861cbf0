import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { QueueStore } from '../../services/job-tracker/queue/queue-store.js';
import type { StoreFault } from '../../services/job-tracker/queue/stores/sqlite/faults.js';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../kit/eventually.js';
import { admit, OpenStore, owner } from './queue-store-bench.js';
import { SqliteBench } from './queue-store-sqlite-bench.js';

/** The first transaction is that of take. */
const fault = (transaction: number, at: StoreFault['at'], does: StoreFault['does']): StoreFault => ({ transaction, at, does });

describe('faults of SQLite', () => {
  let bench: SqliteBench;
  beforeEach(() => {
    bench = new SqliteBench();
  });
  afterEach(() => bench.destroy());

  const withFaults = (...faults: StoreFault[]) => OpenStore.of(bench.connect({ faults }));
  const state = async (store: QueueStore) => (await store.health()).state;

  it('a full disk rolls the commit back, and the next one is stored', async () => {
    const open = await withFaults(fault(2, 'before-commit', { error: 'SQLITE_FULL' }));
    const job = admit();
    await expect(open.one(job)).rejects.toMatchObject({ reason: 'DISK_LOW', rolledBack: true, message: expect.stringContaining('free space') });
    expect(await open.stateOf(job.id)).toBeUndefined();
    expect(await open.one(job)).toMatchObject({ result: 'accepted' });
    expect(await state(open.store)).toBe('OK');
  });

  it('an I/O error before the commit rolls it back; the file is opened anew', async () => {
    const open = await withFaults(fault(2, 'before-commit', { error: 'SQLITE_IOERR_WRITE' }));
    const job = admit();
    await expect(open.one(job)).rejects.toMatchObject({ reason: 'STORE_FAILED', rolledBack: true });
    expect(await open.one(job)).toMatchObject({ result: 'accepted' });
    expect(await state(open.store)).toBe('OK');
  });

  it('an I/O error in the commit leaves the outcome unknown, until the partitions are taken again', async () => {
    const open = await withFaults(fault(2, 'after-commit', { error: 'SQLITE_IOERR_FSYNC' }));
    const job = admit();
    await expect(open.one(job)).rejects.toMatchObject({ reason: 'STORE_FAILED', rolledBack: false });
    expect(await open.store.take([0, 1, 2, 3], owner)).toMatchObject([{ epoch: 2 }, { epoch: 2 }, { epoch: 2 }, { epoch: 2 }]);
    expect((await open.store.load(0)).groups).toEqual([{ nodeGroup: 'group', waiting: 0, ready: 1 }]);
    await expect(open.one(admit())).rejects.toMatchObject({ reason: 'STALE_EPOCH', rolledBack: true });
  });

  it('two I/O errors in a row fail the store for good', async () => {
    const open = await withFaults(...[2, 3].map((n) => fault(n, 'before-commit', { error: 'SQLITE_IOERR_FSYNC' })));
    await expect(open.one(admit())).rejects.toMatchObject({ reason: 'STORE_FAILED' });
    await expect(open.one(admit())).rejects.toMatchObject({ reason: 'STORE_FAILED' });
    await expect(open.one(admit())).rejects.toMatchObject({ reason: 'STORE_FAILED', rolledBack: true, message: expect.stringContaining('restart') });
    await expect(open.store.take([0], owner)).rejects.toMatchObject({ reason: 'STORE_FAILED' });
    expect(await state(open.store)).toBe('FAILED');
    await open.store.close();
    const again = await OpenStore.of(bench.connect());
    expect(await again.one(admit())).toMatchObject({ result: 'accepted' });
  });

  it('two I/O errors with a commit between them do not', async () => {
    const open = await withFaults(...[2, 4].map((n) => fault(n, 'before-commit', { error: 'SQLITE_IOERR_FSYNC' })));
    await expect(open.one(admit())).rejects.toMatchObject({ rolledBack: true });
    expect(await open.one(admit())).toMatchObject({ result: 'accepted' });
    await expect(open.one(admit({ taskId: 'second' }))).rejects.toMatchObject({ rolledBack: true });
    expect(await open.one(admit({ taskId: 'second' }))).toMatchObject({ result: 'accepted' });
    expect(await state(open.store)).toBe('OK');
  });

  it('damage fails the store at once', async () => {
    const open = await withFaults(fault(2, 'work', { error: 'SQLITE_CORRUPT' }));
    await expect(open.one(admit())).rejects.toMatchObject({ reason: 'STORE_FAILED', rolledBack: true });
    expect(await open.store.health()).toMatchObject({ state: 'FAILED', message: expect.stringContaining('CORRUPT') });
  });

  it('the end of the writer thread leaves what was called unknown, and fails what comes after', async () => {
    const open = await withFaults(fault(3, 'work', { exit: true }));
    const job = admit({ taskId: 'acked' });
    await open.one(job);
    const calls = [open.one(admit()), open.one(admit()), open.store.load(0), open.store.purge(0, 1)];
    const settled = await Promise.allSettled(calls);
    expect(settled).toMatchObject([
      { status: 'rejected', reason: { reason: 'STORE_FAILED', rolledBack: false } },
      { status: 'rejected', reason: { reason: 'STORE_FAILED', rolledBack: false } },
      { status: 'rejected', reason: { reason: 'STORE_FAILED' } },
      { status: 'rejected', reason: { reason: 'STORE_FAILED' } },
    ]);
    await expect(open.one(admit())).rejects.toMatchObject({ reason: 'STORE_FAILED' });
    expect(await state(open.store)).toBe('FAILED');
    await open.store.close();
    const again = await OpenStore.of(bench.connect());
    expect(await again.stateOf(job.id)).toBe('READY');
    expect((await again.store.load(0)).groups).toMatchObject([{ ready: 1 }]);
  });

  it('a commit that is not answered in time is unknown; taking again orders itself behind it', async () => {
    const open = await OpenStore.of(
      bench.connect({ lockWaitMs: 500, answerWithinMs: 1_500, faults: [fault(2, 'work', { stallMs: 5_000 })] }),
    );
    const job = admit();
    await expect(open.one(job)).rejects.toMatchObject({ reason: 'STORE_FAILED', rolledBack: false, message: expect.stringContaining('2000 ms') });
    const epochs = await eventually(() => open.store.take([0], owner));
    expect(epochs[0]?.epoch).toBeGreaterThan(1);
    expect(await open.stateOf(job.id)).toBe('READY');
  });

  it('close ends a thread that hangs', async () => {
    const open = await OpenStore.of(bench.connect({ closeWithinMs: 200, faults: [fault(2, 'work', { stallMs: 600_000 })] }));
    const hanging = open.one(admit()).catch((error: unknown) => error);
    const start = systemClock.monotonic();
    await open.store.close();
    expect(systemClock.monotonic() - start).toBeLessThan(5_000);
    expect(await hanging).toMatchObject({ reason: 'STORE_FAILED', rolledBack: false });
  });

  it('close waits for what was called before, also in the lower lane', async () => {
    const open = await OpenStore.of(bench.connect());
    const job = admit({ taskId: 'logged' });
    await open.one(job);
    const lines = Array.from({ length: 1_000 }, (_, i) => ({ id: job.id, attempt: 1, at: i, level: 'INFO' as const, text: 'x', truncated: false }));
    const logs = open.store.appendLogs(lines);
    const commit = open.one(admit());
    await open.store.close();
    await expect(commit).resolves.toMatchObject({ result: 'accepted' });
    await expect(logs).resolves.toBeUndefined();
    const again = bench.connect();
    await again.open();
    expect((await again.listLogs(job.id, 1, 999, 10)).rows).toHaveLength(1);
  });
});
