import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RepairBench } from './repair-bench.js';

describe('the owner mends', () => {
  let bench: RepairBench;

  beforeEach(async () => {
    bench = await RepairBench.start();
  });

  afterEach(() => bench.stop());

  const group = (): ReturnType<typeof bench.core.groups.group> => bench.core.groups.group('g', 0);

  it('an attempt that memory has and the store has not: it is dropped, and its slot is free', async () => {
    const worker = bench.worker(1);
    const id = await bench.submit();
    await bench.until(() => worker.has.has(id), 'it runs');
    bench.damage.prepare('DELETE FROM executing WHERE seq = ?').run(bench.seqOf(id));
    await bench.until(() => !bench.core.groups.executions.has(id), 'it is dropped');
    expect(group().executing).toBe(0);
    expect(worker.worker.executions.size).toBe(0);
    expect(await bench.repairs()).toEqual({ EXECUTION_DROPPED: 1 });
    expect(bench.lines).toContainEqual(['repair.done', expect.objectContaining({ kind: 'EXECUTION_DROPPED', instanceId: id, attempt: 1 })]);
  });

  it('such an attempt also when its end came in vain', async () => {
    const worker = bench.worker(2);
    const id = await bench.submit();
    await bench.until(() => worker.has.has(id), 'it runs');
    bench.damage.prepare('DELETE FROM executing WHERE seq = ?').run(bench.seqOf(id));
    worker.finish([id]);
    await bench.until(() => !bench.core.groups.executions.has(id), 'it is dropped');
    expect(await bench.repairs()).toEqual({ EXECUTION_DROPPED: 1 });
  });

  it('an attempt that the store has and memory has not: its worker is asked, and ends it', async () => {
    const worker = bench.worker();
    const id = await bench.submit();
    await bench.until(() => worker.has.has(id), 'it runs');
    const execution = bench.core.groups.executions.get(id);
    bench.core.groups.executions.delete(id);
    if (execution !== undefined) worker.worker.executions.delete(execution);
    group().executing--;
    await bench.until(() => bench.core.groups.executions.has(id), 'it is adopted');
    expect(await bench.repairs()).toEqual({ EXECUTION_ADOPTED: 1 });
    expect(group().executing).toBe(1);
    await bench.ticks(2);
    expect(worker.got).toEqual([id]);
    worker.finish([id]);
    await bench.until(() => group().executing === 0, 'it ends');
    expect((await bench.store.findInstance({ id }))?.state).toBe('SUCCEEDED');
  });

  it('an attempt of the store whose worker is gone: it is lost after the grace time, and runs again', async () => {
    const worker = bench.worker();
    const id = await bench.submit();
    await bench.until(() => worker.has.has(id), 'it runs');
    // As if this tracker had forgotten the worker with all that it had.
    const [execution] = worker.worker.executions;
    if (execution !== undefined) worker.worker.executions.delete(execution);
    bench.core.groups.executions.delete(id);
    group().executing--;
    bench.core.directory.closed(worker.worker, worker.session, true);
    const next = bench.worker();
    await bench.until(() => next.has.get(id) === 2, 'it runs again');
    expect(await bench.repairs()).toEqual({ EXECUTION_ADOPTED: 1 });
  });

  it('an attempt that a connected worker has silently lost: it is sent again under its number', async () => {
    const worker = bench.worker();
    const ids = [await bench.submit(), await bench.submit()];
    await bench.until(() => worker.has.size === 2, 'both run');
    worker.has.delete(ids[0] ?? '');
    await bench.until(() => worker.got.length === 3, 'it comes again');
    expect(worker.has.get(ids[0] ?? '')).toBe(1);
    expect(await bench.repairs()).toEqual({ ATTEMPT_RESENT: 1 });
    worker.finish(ids);
    await bench.until(() => group().executing === 0, 'both end');
    expect(await bench.store.listAttempts(ids[0] ?? '')).toMatchObject([{ attempt: 1, outcome: 'SUCCESS' }]);
  });

  it('a timer that would look too late', async () => {
    const worker = bench.worker();
    const id = await bench.submit({ trigger_time: bench.clock.now() + 30_000 });
    const owned = bench.core.groups.partitions.get(0);
    if (owned !== undefined) owned.nextDueAt = undefined;
    await bench.until(() => worker.has.has(id), 'it runs');
    expect(await bench.repairs()).toEqual({ TIMER: 1 });
  });

  it('counts that differ from the store', async () => {
    await bench.submit({ trigger_time: bench.clock.now() + 3_600_000 });
    group().waiting += 7;
    await bench.until(() => group().waiting === 1, 'waiting is right');
    group().readyCount += 3;
    await bench.until(() => group().readyCount === 0, 'ready is right');
    group().executing -= 2;
    await bench.until(() => group().executing === 0, 'executing is right');
    expect(await bench.repairs()).toMatchObject({ WAITING_COUNT: 1, READY_COUNT: 1, EXECUTING_COUNT: 1 });
  });

  it('ready rows that memory does not have', async () => {
    const ids = [await bench.submit(), await bench.submit()];
    group().ready.remove(bench.seqOf(ids[0] ?? ''));
    const worker = bench.worker();
    await bench.until(() => worker.has.size === 2, 'both run');
    expect(await bench.repairs()).toEqual({ READY_ROWS: 1 });
  });

  it('a ready row that came into the store behind its back', async () => {
    const worker = bench.worker(4);
    const [first, second] = [await bench.submit({ trigger_time: bench.clock.now() + 3_600_000 }), await bench.submit()];
    await bench.until(() => worker.has.has(second), 'the second runs');
    bench.damage.exec('INSERT INTO ready SELECT group_id, 100, due_at, seq, attempts, retry_times, lost_times FROM waiting; DELETE FROM waiting');
    await bench.until(() => worker.has.has(first), 'the first runs');
    expect(await bench.repairs()).toMatchObject({ READY_COUNT: 1, WAITING_COUNT: 1 });
  });

  it('nothing of a sound and busy owner', async () => {
    const workers = [bench.worker(8), bench.worker(8)];
    let ended = 0;
    for (let round = 0; round < 60; round++) {
      await Promise.all(Array.from({ length: 20 }, (_, i) => bench.submit({ trigger_time: i % 4 === 0 ? bench.clock.now() + i * 200 : 0, max_retry_times: 1 })));
      if (round % 10 === 5) await bench.core.cancellation.cancel({ instance_id: await bench.submit(), task_id: '', node_group: 'g' });
      for (const worker of workers) {
        const ids = [...worker.has.keys()].slice(0, 6);
        ended += ids.length;
        if (ids.length > 0) worker.finish(ids);
      }
      await bench.ticks(1 + (round % 3));
    }
    expect(ended).toBeGreaterThan(500);
    expect(await bench.repairs()).toEqual({});
    for (let round = 0; group().readyCount + group().executing > 0 && round < 400; round++) {
      for (const worker of workers) worker.finish([...worker.has.keys()]);
      await bench.ticks(1);
    }
    await bench.ticks(90);
    expect(await bench.repairs()).toEqual({});
    expect(group()).toMatchObject({ readyCount: 0, executing: 0 });
    expect(workers.flatMap(({ got }) => got).length).toBe(new Set(workers.flatMap(({ got }) => got)).size);
  }, 60_000);
});
