import { expect, it } from 'vitest';
import { newId } from '../../shared/ids.js';
import type { InstanceFilter } from '../../services/job-tracker/queue/status-queries.js';
import { admit, cancel, finish, OpenStore, retry, t0, type StoreBench } from './queue-store-bench.js';

/** Reads for people. */
export function queries(bench: () => StoreBench): void {
  const opened = () => OpenStore.of(bench().connect());
  const all: InstanceFilter = { nodeGroup: '', taskId: '', states: [], before: undefined, limit: 100 };

  it('finds an instance by its id with all that is known', async () => {
    const open = await opened();
    const job = admit({ type: 'mail', priority: -5, dueAt: t0 + 9 });
    const seq = await open.admitted(job);
    expect(await open.store.findInstance({ id: job.id })).toEqual({
      seq, id: job.id, nodeGroup: 'group', taskId: 'task', type: 'mail', priority: -5, state: 'WAITING', blocked: false, createdAt: t0, dueAt: t0 + 9,
      scheduledAt: 0, endedAt: 0, attempts: 0, retryTimes: 0, lostTimes: 0, worker: '', message: '', job: job.job,
    });
    expect(await open.store.findInstance({ id: newId() })).toBeUndefined();
  });

  it('names the worker of what runs', async () => {
    const open = await opened();
    const job = admit();
    await open.running(job);
    expect(await open.store.findInstance({ id: job.id })).toMatchObject({ state: 'EXECUTING', worker: 'worker-1', attempts: 1 });
    expect(await open.store.listAttempts(job.id)).toMatchObject([{ attempt: 1, worker: 'worker-1', endedAt: 0, startedAt: 0, outcome: undefined, fence: 1 }]);
  });

  it('finds the newest instance of a task: the next one, else the current one, else the last that ended', async () => {
    const open = await opened();
    const target = { taskId: 'task', nodeGroup: 'group' };
    const [first, second] = [admit(), admit()];
    expect(await open.store.findInstance(target)).toBeUndefined();
    const seq = await open.running(first);
    await open.admitted({ nodeGroup: 'second' });
    expect(await open.store.findInstance(target)).toMatchObject({ id: first.id });
    await open.one(second);
    expect(await open.store.findInstance(target)).toMatchObject({ id: second.id, blocked: true });
    await open.one(finish(seq));
    await open.one(cancel({ id: second.id }));
    await open.admitted({ taskId: 'other' });
    expect(await open.store.findInstance(target)).toMatchObject({ id: second.id, state: 'CANCELLED', job: second.job });
  });

  it('lists instances newest first, by group, task and state', async () => {
    const open = await opened();
    await open.one(finish(await open.running({ taskId: 'a' })));
    await open.running({ taskId: 'a' });
    await open.admitted({ taskId: 'a' });
    await open.one(admit({ taskId: 'a' }));
    await open.admitted({ taskId: 'b' });
    await open.admitted({ taskId: 'c', dueAt: t0 + 10 });
    await open.admitted({ nodeGroup: 'second', taskId: 'a' });
    const list = async (filter: Partial<InstanceFilter>) =>
      (await open.store.listInstances({ ...all, ...filter })).rows.map((row) => `${row.nodeGroup}/${row.taskId} ${row.state}${row.blocked ? ' blocked' : ''}`);
    expect(await list({})).toEqual([
      'second/a READY', 'group/c WAITING', 'group/b READY', 'group/a WAITING blocked', 'group/a EXECUTING', 'group/a SUCCEEDED',
    ]);
    expect(await list({ nodeGroup: 'second' })).toEqual(['second/a READY']);
    expect(await list({ nodeGroup: 'group', taskId: 'a', states: ['EXECUTING', 'SUCCEEDED'] })).toEqual(['group/a EXECUTING', 'group/a SUCCEEDED']);
    expect(await list({ states: ['WAITING'] })).toEqual(['group/c WAITING', 'group/a WAITING blocked']);
    expect(await list({ states: ['LOST'] })).toEqual([]);
  });

  it('lists page by page without jobs', async () => {
    const open = await opened();
    await open.commit(Array.from({ length: 25 }, (_, i) => admit({ taskId: `t${i}` })));
    const seen: string[] = [];
    let before: number | undefined;
    for (let page = 0; page < 10; page++) {
      const { rows, nextBefore } = await open.store.listInstances({ ...all, before, limit: 10 });
      seen.push(...rows.map((row) => row.taskId));
      expect(rows.every((row) => row.job === undefined)).toBe(true);
      before = nextBefore;
      if (before === undefined) break;
    }
    expect(seen).toEqual(Array.from({ length: 25 }, (_, i) => `t${24 - i}`));
    expect(before).toBeUndefined();
  });

  it('finds what is rare behind many rows, by short pages', async () => {
    const open = await opened();
    await open.admitted({ taskId: 'rare' });
    for (let batch = 0; batch < 6; batch++) {
      await open.commit(Array.from({ length: 1_000 }, (_, i) => admit({ taskId: `t${batch}-${i}`, job: Buffer.from('x') })));
    }
    let found: string[] = [];
    let pages = 0;
    for (let before: number | undefined = Number.MAX_SAFE_INTEGER; before !== undefined && found.length === 0; pages++) {
      const page: Awaited<ReturnType<typeof open.store.listInstances>> = await open.store.listInstances({ ...all, taskId: 'rare', before });
      found = page.rows.map((row) => row.taskId);
      before = page.nextBefore;
    }
    expect(found).toEqual(['rare']);
    expect(pages).toBeGreaterThan(1);
  });

  it('tells the last message and the counts of what goes on', async () => {
    const open = await opened();
    const job = admit();
    await open.one(retry(await open.running(job), t0 + 99));
    const { rows } = await open.store.listInstances({ ...all, states: ['WAITING'] });
    expect(rows).toMatchObject([{ id: job.id, message: 'not now', attempts: 1, retryTimes: 1, dueAt: t0 + 99 }]);
  });

  it('counts what comes before a key, up to a bound', async () => {
    const open = await opened();
    await open.commit([1, 2, 2, 3].map((priority, i) => admit({ taskId: `t${i}`, priority })));
    const rows = await open.store.readReady('group', undefined, 10);
    const before = (i: number, most = 10) => open.store.countBefore('group', rows[i] ?? { priority: 0, dueAt: 0, seq: 0 }, most);
    expect(await Promise.all([before(0), before(1), before(2), before(3), before(3, 2)])).toEqual([0, 1, 2, 3, 2]);
    expect(await open.store.countBefore('nobody', { priority: 1_000, dueAt: t0, seq: 1 }, 10)).toBe(0);
  });

  it('answers while a commit runs, from before or after it', async () => {
    const open = await opened();
    const job = admit({ taskId: 'first' });
    const [, state] = await Promise.all([open.commit([job, ...Array.from({ length: 900 }, (_, i) => admit({ taskId: `t${i}` }))]), open.stateOf(job.id)]);
    expect([undefined, 'READY']).toContain(state);
    expect(await open.stateOf(job.id)).toBe('READY');
  });
}
