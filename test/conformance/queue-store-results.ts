import { expect, it } from 'vitest';
import { randomFillSync } from 'node:crypto';
import { idMaker, newId } from '../../shared/ids.js';
import type { LogRow } from '../../services/job-tracker/queue/queue-store.js';
import { admit, allPartitions, finish, OpenStore, retry, t0, type StoreBench } from './queue-store-bench.js';

/** The feedback queue, log lines and the purge. */
export function results(bench: () => StoreBench): void {
  const opened = () => OpenStore.of(bench().connect());
  const owing = (taskId: string, values = {}) => admit({ taskId, needFeedback: true, submitNodeGroup: 'clients', ...values });
  /** What is purged was made as long ago as it says: its id tells. */
  const oldId = idMaker(randomFillSync);

  it('owes a result in the order of the ends, and tells to whom', async () => {
    const open = await opened();
    const [first, second] = [owing('first'), owing('second')];
    const [firstSeq, secondSeq] = [await open.running(first), await open.running(second)];
    const end = { outcome: 'FAILED', message: 'no', truncated: false, startedAt: 0 } as const;
    expect(await open.one(finish(secondSeq, { end, next: { state: 'FAILED' }, at: t0 + 5 }))).toEqual({ kind: 'finish', applied: true, owedTo: 'clients' });
    await open.one(finish(firstSeq));
    const rows = await open.store.readFeedback('clients', allPartitions, 0, t0 + 9, 10);
    expect(rows).toEqual([
      {
        seq: expect.any(Number), id: second.id, taskId: 'second', nodeGroup: 'group', submitNodeGroup: 'clients', scheduledAt: 0, state: 'FAILED', outcome: 'FAILED',
        message: 'no', attempt: 1, endedAt: t0 + 5, deliveries: 0, dead: false, nextAt: expect.any(Number), lastError: '',
      },
      expect.objectContaining({ id: first.id, state: 'SUCCEEDED', outcome: 'SUCCESS' }),
    ]);
    expect(await open.store.readFeedback('clients', allPartitions, rows[0]?.seq ?? 0, t0 + 9, 10)).toMatchObject([{ id: first.id }]);
    expect(await open.store.readFeedback('clients', allPartitions, 0, t0 + 9, 1)).toHaveLength(1);
    expect(await open.store.readFeedback('clients', [1, 2, 3], 0, t0 + 9, 10)).toEqual([]);
    expect(await open.store.readFeedback('others', allPartitions, 0, t0 + 9, 10)).toEqual([]);
    expect((await open.store.countFeedback()).map(({ submitNodeGroup }) => submitNodeGroup)).toEqual(['clients']);
  });

  it('owes nothing while an instance goes on, and nothing that is not wanted', async () => {
    const open = await opened();
    expect(await open.one(retry(await open.running(owing('retried')), t0 + 50))).toEqual({ kind: 'finish', applied: true, waitingUntil: t0 + 50 });
    expect(await open.one(finish(await open.running({ taskId: 'plain', submitNodeGroup: 'clients' })))).toEqual({ kind: 'finish', applied: true });
    expect((await open.store.countFeedback()).map(({ submitNodeGroup }) => submitNodeGroup)).toEqual([]);
  });

  it('never gives an owed number again, also when all were taken and after a restart', async () => {
    const first = await opened();
    const [one, two] = [owing('one'), owing('two')];
    await first.one(finish(await first.running(one)));
    const [row] = await first.store.readFeedback('clients', allPartitions, 0, t0, 1);
    await first.store.settleFeedback({ taken: [one.id], failed: [] });
    expect((await first.store.countFeedback()).map(({ submitNodeGroup }) => submitNodeGroup)).toEqual([]);
    await first.store.close();
    const second = await opened();
    await second.one(finish(await second.running(two)));
    expect(await second.store.readFeedback('clients', allPartitions, row?.seq ?? Number.NaN, t0, 1)).toMatchObject([{ id: two.id }]);
  });

  it('puts failed deliveries off, counts them, and keeps dead ones aside until they are sent again', async () => {
    const open = await opened();
    const jobs = ['a', 'b', 'c'].map((taskId) => owing(taskId));
    for (const job of jobs) await open.one(finish(await open.running(job)));
    const [a, b, c] = jobs.map((job) => job.id) as [string, string, string];
    await open.store.settleFeedback({
      taken: [c],
      failed: [
        { id: a, message: 'busy', nextAt: t0 + 100, dead: false },
        { id: b, message: 'broken', nextAt: t0, dead: true },
      ],
    });
    expect(await open.store.readFeedback('clients', allPartitions, 0, t0 + 99, 10)).toEqual([]);
    expect(await open.store.readFeedback('clients', allPartitions, 0, t0 + 100, 10)).toMatchObject([{ id: a, deliveries: 1, lastError: 'busy', dead: false }]);
    expect(await open.store.countFeedback()).toEqual([{ submitNodeGroup: 'clients', owed: 2, dead: 1 }]);
    expect((await open.store.listFeedback('', false, 10)).map((row) => [row.id, row.dead])).toEqual([
      [b, true],
      [a, false],
    ]);
    expect(await open.store.listFeedback('clients', true, 10)).toMatchObject([{ id: b, lastError: 'broken' }]);
    expect(await open.store.listFeedback('clients', false, 1)).toMatchObject([{ id: b }]);
    expect(await open.store.resendFeedback([a, b, newId()], '', t0 + 7)).toBe(1);
    expect(await open.store.readFeedback('clients', allPartitions, 0, t0 + 7, 10)).toMatchObject([{ id: b, dead: false, nextAt: t0 + 7, deliveries: 0 }]);
  });

  it('sends all dead results of a group again, and only those', async () => {
    const open = await opened();
    const ids: string[] = [];
    for (let i = 0; i < 450; i++) ids.push(owing(`t${i}`).id);
    await open.commit(ids.map((id, i) => owing(`t${i}`, { id, start: { worker: { nodeId: 'w', incarnation: 'w' }, fence: 1 } })));
    await open.commit((await open.store.load(0)).executing.map(({ seq }) => finish(seq)));
    const other = owing('other', { submitNodeGroup: 'others' });
    await open.one(finish(await open.running(other)));
    await open.store.settleFeedback({ taken: [], failed: [...ids, other.id].map((id) => ({ id, message: 'x', nextAt: t0, dead: true })) });
    expect(await open.store.resendFeedback([], 'clients', t0)).toBe(450);
    expect(await open.store.countFeedback()).toEqual([
      { submitNodeGroup: 'clients', owed: 450, dead: 0 },
      { submitNodeGroup: 'others', owed: 1, dead: 1 },
    ]);
  });

  it('settles a result that nobody owes without harm', async () => {
    const open = await opened();
    const job = admit();
    await open.one(finish(await open.running(job)));
    await open.store.settleFeedback({ taken: [job.id, newId()], failed: [{ id: newId(), message: '', nextAt: 0, dead: false }] });
    expect(await open.store.countFeedback()).toEqual([]);
  });

  it('keeps log lines in their order, by attempt, page by page', async () => {
    const open = await opened();
    const [job, second] = [admit(), admit({ taskId: 'second' })];
    await open.commit([job, second]);
    const line = (id: string, attempt: number, text: string, level: LogRow['level'] = 'INFO'): LogRow => ({ id, attempt, at: t0, level, text, truncated: text === 'cut' });
    await open.store.appendLogs([line(job.id, 1, 'a'), line(second.id, 1, 'other'), line(job.id, 1, 'b', 'ERROR')]);
    await open.store.appendLogs([line(job.id, 2, 'cut', 'DEBUG'), line(newId(), 1, 'of nobody'), line(job.id, 1, 'late', 'WARN')]);
    const all = await open.store.listLogs(job.id, 0, 0, 100);
    expect(all.rows.map((row) => [row.id, row.attempt, row.text, row.level, row.truncated])).toEqual([
      [job.id, 1, 'a', 'INFO', false],
      [job.id, 1, 'b', 'ERROR', false],
      [job.id, 2, 'cut', 'DEBUG', true],
      [job.id, 1, 'late', 'WARN', false],
    ]);
    expect(all.nextAfter).toBeUndefined();
    const page = await open.store.listLogs(job.id, 1, 0, 2);
    expect(page.rows.map((row) => row.text)).toEqual(['a', 'b']);
    const rest = await open.store.listLogs(job.id, 1, page.nextAfter ?? 0, 2);
    expect(rest.rows.map((row) => row.text)).toEqual(['late']);
    expect(await open.store.listLogs(newId(), 0, 0, 10)).toEqual({ rows: [], nextAfter: undefined });
  });

  it('appends thousands of lines while commits go on', async () => {
    const open = await opened();
    const job = admit();
    await open.one(job);
    const lines = Array.from({ length: 3_000 }, (_, i) => ({ id: job.id, attempt: 1, at: t0 + i, level: 'INFO' as const, text: `line ${i}`, truncated: false }));
    const order: string[] = [];
    await Promise.all([
      open.store.appendLogs(lines).then(() => order.push('logs')),
      open.one(admit({ taskId: 'beside' })).then(() => order.push('commit')),
    ]);
    expect(order).toEqual(['commit', 'logs']);
    const { rows } = await open.store.listLogs(job.id, 1, 0, 10_000);
    expect(rows.map((row) => row.at - t0)).toEqual(Array.from({ length: 3_000 }, (_, i) => i));
  });

  it('purges what ended before a time with all that belongs to it, and nothing else', async () => {
    const open = await opened();
    const jobs = ['old', 'new', 'live'].map((taskId) => owing(taskId, { id: oldId(t0) }));
    const [gone, young, live] = jobs.map((job) => job.id) as [string, string, string];
    const seqs: number[] = [];
    for (const job of jobs) seqs.push(await open.running(job));
    await open.one(finish(seqs[0] ?? 0, { at: t0 + 10 }));
    await open.one(finish(seqs[1] ?? 0, { at: t0 + 20 }));
    const ignored = admit({ taskId: 'live', nodeGroup: 'group' });
    await open.store.appendLogs([gone, young].map((id) => ({ id, attempt: 1, at: t0, level: 'INFO', text: 'x', truncated: false })));
    expect(await open.one({ ...ignored, taskId: 'ready' })).toMatchObject({ result: 'accepted' });
    expect(await open.store.purge(t0 + 20, 100)).toBe(1);
    expect(await open.store.findInstance({ id: gone })).toBeUndefined();
    expect(await open.store.listAttempts(gone)).toEqual([]);
    expect((await open.store.listLogs(gone, 0, 0, 10)).rows).toEqual([]);
    expect((await open.store.listLogs(young, 0, 0, 10)).rows).toHaveLength(1);
    expect(await open.store.readFeedback('clients', allPartitions, 0, t0 + 99, 10)).toMatchObject([{ id: young }]);
    expect(await open.stateOf(young)).toBe('SUCCEEDED');
    expect(await open.stateOf(live)).toBe('EXECUTING');
    expect(await open.store.purge(t0 + 20, 100)).toBe(0);
    expect(await open.one(jobs[0] ?? admit())).toMatchObject({ result: 'accepted' });
  });

  it('purges up to its limit, oldest arrivals first, ignored duplicates too', async () => {
    const open = await opened();
    await open.commit(Array.from({ length: 350 }, (_, i) => admit({ id: oldId(t0), taskId: `t${i}`, start: { worker: { nodeId: 'w', incarnation: 'w' }, fence: 1 } })));
    await open.commit((await open.store.load(0)).executing.map(({ seq }) => finish(seq)));
    await open.admitted({ taskId: 'waits', dueAt: t0 + 1_000 });
    await open.one(admit({ id: oldId(t0), taskId: 'waits' }));
    expect(await open.store.purge(t0 + 1_000, 120)).toBe(120);
    const { rows } = await open.store.listInstances({ nodeGroup: 'group', taskId: '', states: ['SUCCEEDED'], before: undefined, limit: 1_000 });
    expect(rows.map((row) => row.taskId)).toEqual(Array.from({ length: 230 }, (_, i) => `t${349 - i}`));
    expect(await open.store.purge(t0 + 1_000, 1_000)).toBe(231);
    expect(await open.store.load(0)).toMatchObject({ groups: [{ waiting: 1, ready: 0 }] });
  });

  it('never gives an arrival number again after a purge', async () => {
    const open = await opened();
    const seq = await open.running({ id: oldId(t0) });
    await open.one(finish(seq));
    expect(await open.store.purge(t0 + 1_000, 10)).toBe(1);
    expect(await open.admitted()).toBeGreaterThan(seq);
  });
}
