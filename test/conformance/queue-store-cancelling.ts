import { expect, it } from 'vitest';
import { newId } from '../../shared/ids.js';
import { admit, allPartitions, cancel, finish, OpenStore, promote, retry, start, t0, type StoreBench } from './queue-store-bench.js';

/** Cancel by instance and by task. */
export function cancelling(bench: () => StoreBench): void {
  const opened = () => OpenStore.of(bench().connect());
  const nothing = { kind: 'cancel', cancelled: [], cancelling: [], ended: [] };

  it.each([
    ['ready', t0],
    ['waiting', t0 + 10],
  ] as const)('ends what is %s', async (placement, dueAt) => {
    const open = await opened();
    const job = admit({ dueAt });
    const seq = await open.admitted(job);
    expect(await open.one(cancel({ id: job.id }))).toEqual({ ...nothing, cancelled: [{ id: job.id, seq, placement }] });
    expect(await open.store.findInstance({ id: job.id })).toMatchObject({ state: 'CANCELLED', endedAt: t0 + 4, attempts: 0 });
    expect(await open.store.load(0)).toEqual({ groups: [{ nodeGroup: 'group', waiting: 0, ready: 0 }], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } });
    expect(await open.one(cancel({ id: job.id }))).toEqual({ ...nothing, ended: [job.id] });
    expect(await open.one(admit())).toMatchObject({ result: 'accepted' });
  });

  it('marks what runs, again and again, until its end', async () => {
    const open = await opened();
    const job = admit();
    const seq = await open.running(job);
    const marked = { ...nothing, cancelling: [{ id: job.id, seq, attempt: 1 }] };
    expect(await open.one(cancel({ id: job.id }))).toEqual(marked);
    expect(await open.one(cancel({ taskId: 'task' }))).toEqual(marked);
    expect(await open.stateOf(job.id)).toBe('CANCELLING');
    expect((await open.store.load(0)).executing).toMatchObject([{ seq, cancelling: true }]);
    expect(await open.one(finish(seq, { next: { state: 'CANCELLED' } }))).toMatchObject({ applied: true });
    expect(await open.stateOf(job.id)).toBe('CANCELLED');
  });

  it('lets what is being cancelled not run again, also when both come in one commit', async () => {
    const open = await opened();
    const job = admit();
    const seq = await open.running(job);
    expect(await open.commit([cancel({ id: job.id }), retry(seq, t0)])).toMatchObject([{ cancelling: [{ seq }] }, { kind: 'finish', applied: false }]);
    expect(await open.stateOf(job.id)).toBe('CANCELLING');
    expect(await open.one(finish(seq, { next: { state: 'CANCELLED' } }))).toEqual({ kind: 'finish', applied: true });
    expect((await open.store.listAttempts(job.id)).map((row) => row.attempt)).toEqual([1]);
  });

  it('ends what waits for its retry, with what is behind it', async () => {
    const open = await opened();
    const job = admit({ needFeedback: true, submitNodeGroup: 'clients' });
    const seq = await open.running(job);
    await open.one(retry(seq, t0 + 100));
    expect(await open.one(cancel({ id: job.id }))).toEqual({ ...nothing, cancelled: [{ id: job.id, seq, placement: 'waiting', owedTo: 'clients' }] });
    expect(await open.store.findInstance({ id: job.id })).toMatchObject({ state: 'CANCELLED', attempts: 1, retryTimes: 1 });
    expect((await open.store.listAttempts(job.id)).map((row) => row.attempt)).toEqual([1]);
  });

  it('owes the result of what it ended, when one is wanted', async () => {
    const open = await opened();
    const job = admit({ needFeedback: true, submitNodeGroup: 'clients' });
    await open.one(job);
    expect(await open.one(cancel({ id: job.id }))).toMatchObject({ cancelled: [{ owedTo: 'clients' }] });
    expect(await open.store.readFeedback('clients', allPartitions, 0, t0, 10)).toMatchObject([
      { id: job.id, state: 'CANCELLED', outcome: undefined, attempt: 0, endedAt: t0 + 4 },
    ]);
  });

  it('cancels a blocked one without touching the one that runs', async () => {
    const open = await opened();
    const running = admit();
    const seq = await open.running(running);
    const next = admit();
    const nextSeq = await open.admitted(next);
    expect(await open.one(cancel({ id: next.id }))).toEqual({ ...nothing, cancelled: [{ id: next.id, seq: nextSeq, placement: 'blocked' }] });
    expect(await open.stateOf(running.id)).toBe('EXECUTING');
    expect(await open.one(finish(seq))).toEqual({ kind: 'finish', applied: true });
  });

  it.each([
    ['ready', t0],
    ['waiting', t0 + 200],
  ] as const)('lets the next one become %s when the current one is cancelled in its back-off', async (place, dueAt) => {
    const open = await opened();
    const current = admit();
    const seq = await open.running(current);
    const next = admit({ dueAt });
    await open.one(next);
    await open.one(retry(seq, t0 + 100));
    const outcome = await open.one(cancel({ id: current.id }));
    expect(outcome).toMatchObject({ cancelled: [{ id: current.id, placement: 'waiting' }] });
    if (place === 'ready') expect(outcome.ready).toMatchObject({ id: next.id, dueAt });
    else expect(outcome.waitingUntil).toBe(dueAt);
    expect(await open.store.findInstance({ id: next.id })).toMatchObject({ state: place === 'ready' ? 'READY' : 'WAITING', blocked: false });
  });

  it('cancels the current and the next one of a task', async () => {
    const open = await opened();
    const [current, next] = [admit(), admit()];
    const seq = await open.running(current);
    const nextSeq = await open.admitted(next);
    expect(await open.one(cancel({ taskId: 'task' }))).toEqual({
      ...nothing,
      cancelled: [{ id: next.id, seq: nextSeq, placement: 'blocked' }],
      cancelling: [{ id: current.id, seq, attempt: 1 }],
    });
    expect(await open.one(finish(seq, { next: { state: 'CANCELLED' } }))).toEqual({ kind: 'finish', applied: true });
  });

  it('cancels both when the current one of the task waits for its retry', async () => {
    const open = await opened();
    const [current, next] = [admit(), admit()];
    const seq = await open.running(current);
    await open.one(next);
    await open.one(retry(seq, t0 + 100));
    const outcome = await open.one(cancel({ taskId: 'task' }));
    expect(outcome.cancelled.map(({ id, placement }) => [id, placement])).toEqual([
      [next.id, 'blocked'],
      [current.id, 'waiting'],
    ]);
    expect(outcome.ready).toBeUndefined();
    expect(await open.store.load(0)).toMatchObject({ groups: [{ waiting: 0, ready: 0 }] });
  });

  it('touches nothing of another group, an unknown id, an unknown task or an ignored duplicate', async () => {
    const open = await opened();
    const job = admit();
    const ignored = admit();
    await open.commit([job, ignored, admit({ nodeGroup: 'second' })]);
    expect(
      await open.commit([
        cancel({ id: job.id }, { nodeGroup: 'second' }),
        cancel({ id: job.id }, { nodeGroup: 'nobody' }),
        cancel({ id: newId() }),
        cancel({ taskId: 'nothing' }),
        cancel({ id: ignored.id }),
      ]),
    ).toEqual(Array.from({ length: 5 }, () => nothing));
    expect(await open.stateOf(job.id)).toBe('READY');
  });

  it('lets no attempt start after it', async () => {
    const open = await opened();
    const ready = await open.admitted({ taskId: 'ready' });
    const waiting = await open.admitted({ taskId: 'waiting', dueAt: t0 + 1 });
    await open.commit([cancel({ taskId: 'ready' }), cancel({ taskId: 'waiting' })]);
    expect(await open.one(promote(t0 + 1_000))).toEqual({ kind: 'promote', ready: [], nextDueAt: undefined });
    expect(await open.commit([start(ready), start(waiting)])).toMatchObject([{ started: false }, { started: false }]);
  });
}
