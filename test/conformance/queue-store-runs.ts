import { expect, it } from 'vitest';
import { admit, cancel, finish, OpenStore, otherWorker, promote, retry, start, t0, worker, type StoreBench } from './queue-store-bench.js';

/** Steps 2 to 5: ready, executing, the end of an attempt. */
export function runs(bench: () => StoreBench): void {
  const opened = () => OpenStore.of(bench().connect());

  it('reads ready rows by priority, due time and arrival, page by page', async () => {
    const open = await opened();
    const make = (taskId: string, priority: number, dueAt: number) => admit({ taskId, priority, dueAt });
    await open.commit([make('e', 5, t0), make('c', 1, t0), make('b', 1, t0 - 9), make('a', -3, t0), make('d', 1, t0), admit({ nodeGroup: 'second' })]);
    const names = async (rows: { id: string }[]) => Promise.all(rows.map(async ({ id }) => (await open.store.findInstance({ id }))?.taskId));
    const first = await open.store.readReady('group', undefined, 3);
    expect(await names(first)).toEqual(['a', 'b', 'c']);
    const rest = await open.store.readReady('group', first.at(-1), 10);
    expect(await names(rest)).toEqual(['d', 'e']);
    expect(await open.store.readReady('group', rest.at(-1), 10)).toEqual([]);
    expect(await open.store.readReady('nobody', undefined, 10)).toEqual([]);
  });

  it('brings small jobs with their ready rows and large ones with the start', async () => {
    const open = await opened();
    const small = admit({ taskId: 'small', priority: 1, job: Buffer.alloc(4_096, 1), type: 'mail' });
    const large = admit({ taskId: 'large', priority: 2, job: Buffer.alloc(4_097, 2) });
    await open.commit([small, large]);
    const rows = await open.store.readReady('group', undefined, 10);
    expect(rows).toEqual([
      { seq: expect.any(Number), id: small.id, taskId: 'small', type: 'mail', priority: 1, dueAt: t0, scheduledAt: t0, attempts: 0, retryTimes: 0, lostTimes: 0, policy: small.policy, job: small.job },
      { seq: expect.any(Number), id: large.id, taskId: 'large', type: 'default', priority: 2, dueAt: t0, scheduledAt: t0, attempts: 0, retryTimes: 0, lostTimes: 0, policy: large.policy, job: undefined },
    ]);
    // Each is found alone, by its own key.
    for (const row of rows) expect(await open.store.readReady('group', { ...row, seq: row.seq - 1 }, 1)).toEqual([row]);
    const outcomes = await open.commit(rows.map(({ seq }, i) => start(seq, { wantJob: i === 1 })));
    expect(outcomes).toEqual([
      { kind: 'start', started: true, job: undefined },
      { kind: 'start', started: true, job: large.job },
    ]);
  });

  it('starts a ready instance once, and only with the next attempt number', async () => {
    const open = await opened();
    const seq = await open.admitted();
    expect(await open.one(start(seq, { attempt: 2 }))).toEqual({ kind: 'start', started: false });
    expect(await open.one(start(seq))).toMatchObject({ started: true });
    expect(await open.one(start(seq))).toEqual({ kind: 'start', started: false });
    expect(await open.one(start(seq, { attempt: 2 }))).toEqual({ kind: 'start', started: false });
    expect(await open.one(start(9_999))).toEqual({ kind: 'start', started: false });
    expect(await open.store.readReady('group', undefined, 10)).toEqual([]);
  });

  it('does not start what waits, is blocked, cancelled or replaced', async () => {
    const open = await opened();
    const waiting = await open.admitted({ taskId: 'waiting', dueAt: t0 + 9 });
    const running = await open.running({ taskId: 'running' });
    const blocked = await open.admitted({ taskId: 'running' });
    const cancelled = await open.admitted({ taskId: 'cancelled' });
    const replaced = await open.admitted({ taskId: 'replaced' });
    await open.commit([cancel({ taskId: 'cancelled' }), admit({ taskId: 'replaced', replaceOnExist: true, dueAt: t0 + 9 })]);
    const outcomes = await open.commit([waiting, blocked, cancelled, replaced].map((seq) => start(seq)));
    expect(outcomes.map((outcome) => 'started' in outcome && outcome.started)).toEqual([false, false, false, false]);
    expect((await open.store.load(0)).executing.map((row) => row.seq)).toEqual([running]);
  });

  it.each(['SUCCEEDED', 'FAILED', 'CANCELLED', 'LOST'] as const)('ends an instance as %s, for good', async (state) => {
    const open = await opened();
    const job = admit();
    const seq = await open.running(job);
    const end = { outcome: 'FAILED', message: 'why', truncated: true, startedAt: t0 + 7 } as const;
    expect(await open.one(finish(seq, { end, next: { state }, at: t0 + 8 }))).toEqual({ kind: 'finish', applied: true });
    expect(await open.store.findInstance({ id: job.id })).toMatchObject({ state, message: 'why', endedAt: t0 + 8, attempts: 1, worker: '' });
    expect(await open.one(finish(seq))).toEqual({ kind: 'finish', applied: false });
    expect(await open.one(cancel({ id: job.id }))).toMatchObject({ ended: [job.id], cancelled: [], cancelling: [] });
    expect(await open.stateOf(job.id)).toBe(state);
    expect(await open.store.listAttempts(job.id)).toEqual([
      {
        attempt: 1, worker: 'worker-1', incarnation: 'worker-incarnation-1', assignedAt: t0, startedAt: t0 + 7, endedAt: t0 + 8, outcome: 'FAILED',
        message: 'why', truncated: true, lateOutcome: undefined, lateMessage: '', fence: 1,
      },
    ]);
  });

  it('counts the loss that ends an instance', async () => {
    const open = await opened();
    const job = admit();
    const end = { outcome: 'LOST', message: 'gone', truncated: false, startedAt: 0 } as const;
    const seq = await open.running(job);
    await open.commit([
      finish(seq, { end, next: { dueAt: t0, retryTimes: 0, lostTimes: 1 } }),
      start(seq, { attempt: 2 }),
      finish(seq, { attempt: 2, end, next: { state: 'LOST' } }),
    ]);
    expect(await open.store.findInstance({ id: job.id })).toMatchObject({ state: 'LOST', lostTimes: 2, retryTimes: 0, attempts: 2 });
  });

  it('applies an end only to the current attempt', async () => {
    const open = await opened();
    const seq = await open.running();
    expect(await open.one(finish(seq, { attempt: 2 }))).toEqual({ kind: 'finish', applied: false });
    expect(await open.one(retry(seq, t0, { attempt: 2 }))).toEqual({ kind: 'finish', applied: false });
    expect(await open.one(finish(await open.admitted({ taskId: 'ready' })))).toEqual({ kind: 'finish', applied: false });
    expect(await open.one(finish(seq))).toMatchObject({ applied: true });
  });

  it('makes an instance wait for its retry, ready at its time, with what is behind it', async () => {
    const open = await opened();
    const job = admit();
    const seq = await open.running(job);
    expect(await open.one(retry(seq, t0 + 50, { at: t0 + 10 }))).toEqual({ kind: 'finish', applied: true, waitingUntil: t0 + 50 });
    expect(await open.store.findInstance({ id: job.id })).toMatchObject({
      state: 'WAITING', blocked: false, dueAt: t0 + 50, attempts: 1, retryTimes: 1, message: 'not now',
    });
    const { ready } = await open.one(promote(t0 + 50));
    expect(ready).toMatchObject([{ seq, id: job.id, dueAt: t0 + 50, attempts: 1, retryTimes: 1, lostTimes: 0 }]);
    expect(await open.store.readReady('group', undefined, 1)).toMatchObject([{ seq, attempts: 1, retryTimes: 1 }]);
    expect(await open.one(start(seq))).toMatchObject({ started: false });
    expect(await open.one(start(seq, { attempt: 2, worker: otherWorker, fence: 2 }))).toMatchObject({ started: true });
    expect((await open.store.load(0)).executing).toMatchObject([{ attempt: 2, retryTimes: 1, dueAt: t0 + 50, worker: otherWorker, fence: 2 }]);
    await open.one(finish(seq, { attempt: 2 }));
    expect((await open.store.listAttempts(job.id)).map((row) => [row.attempt, row.outcome, row.worker])).toEqual([
      [1, 'LATER', 'worker-1'],
      [2, 'SUCCESS', 'worker-2'],
    ]);
  });

  it('makes an instance ready at once whose retry is due', async () => {
    const open = await opened();
    const job = admit();
    const seq = await open.running(job);
    const next = { dueAt: t0 + 10, retryTimes: 0, lostTimes: 2 };
    const outcome = await open.one(finish(seq, { end: { outcome: 'LOST', message: 'gone', truncated: false, startedAt: 0 }, next, at: t0 + 10 }));
    expect(outcome).toEqual({
      kind: 'finish',
      applied: true,
      ready: {
        nodeGroup: 'group', seq, id: job.id, type: 'default', priority: 100, dueAt: t0 + 10, scheduledAt: t0, attempts: 1, retryTimes: 0, lostTimes: 2,
        policy: job.policy,
        job: job.job,
      },
    });
    // It is read by the key that the outcome tells.
    expect(await open.store.readReady('group', { priority: 100, dueAt: t0 + 10, seq: seq - 1 }, 1)).toMatchObject([{ seq, taskId: job.taskId }]);
    expect(await open.one(start(seq, { attempt: 2 }))).toMatchObject({ started: true });
  });

  it.each([
    ['ready', t0],
    ['waiting', t0 + 100],
  ] as const)('lets the next one of a task become %s in the commit that ends the current one', async (place, dueAt) => {
    const open = await opened();
    const seq = await open.running();
    const next = admit({ dueAt, priority: 7, type: 'mail' });
    await open.one(next);
    const outcome = await open.one(finish(seq));
    if (place === 'ready') expect(outcome).toMatchObject({ ready: { id: next.id, nodeGroup: 'group', priority: 7, type: 'mail', attempts: 0, job: next.job } });
    else expect(outcome).toEqual({ kind: 'finish', applied: true, waitingUntil: dueAt });
    expect(await open.store.findInstance({ id: next.id })).toMatchObject({ state: place === 'ready' ? 'READY' : 'WAITING', blocked: false });
    expect(await open.one(admit())).toMatchObject({ result: 'duplicate', existingId: next.id });
  });

  it('holds the next one back while the current one waits for its retry', async () => {
    const open = await opened();
    const seq = await open.running();
    const next = admit();
    await open.one(next);
    expect(await open.one(retry(seq, t0 + 50))).toEqual({ kind: 'finish', applied: true, waitingUntil: t0 + 50 });
    expect(await open.store.findInstance({ id: next.id })).toMatchObject({ state: 'WAITING', blocked: true });
    await open.one(promote(t0 + 60));
    await open.one(start(seq, { attempt: 2 }));
    expect(await open.one(finish(seq, { attempt: 2 }))).toMatchObject({ ready: { id: next.id } });
  });

  it('gives an attempt to another worker under the same number', async () => {
    const open = await opened();
    const job = admit();
    const seq = await open.running(job);
    const reassign = { kind: 'reassign', partition: 0, seq, attempt: 1, worker: otherWorker, at: t0 + 9 } as const;
    expect(await open.one(reassign)).toEqual({ kind: 'reassign', applied: true, job: job.job });
    expect((await open.store.load(0)).executing).toMatchObject([{ attempt: 1, worker: otherWorker, assignedAt: t0 + 9, fence: 1 }]);
    expect(await open.one({ ...reassign, attempt: 2 })).toMatchObject({ applied: false });
    await open.one(finish(seq));
    expect(await open.one(reassign)).toMatchObject({ applied: false });
    expect(await open.store.listAttempts(job.id)).toMatchObject([{ attempt: 1, worker: 'worker-2' }]);
  });

  it('records a late result on its attempt, the first one, and changes nothing else', async () => {
    const open = await opened();
    const job = admit();
    const seq = await open.running(job);
    const lost = { outcome: 'LOST', message: 'gone', truncated: false, startedAt: 0 } as const;
    await open.one(finish(seq, { end: lost, next: { dueAt: t0, retryTimes: 0, lostTimes: 1 } }));
    const late = (attempt: number, message: string, values = {}) =>
      open.one({ kind: 'late', partition: 0, id: job.id, attempt, outcome: 'SUCCESS', message, ...values } as const);
    expect(await late(1, 'first')).toEqual({ kind: 'late', known: true });
    expect(await late(1, 'second')).toEqual({ kind: 'late', known: true });
    expect(await late(2, 'never')).toEqual({ kind: 'late', known: false });
    expect(await late(1, 'other id', { id: admit().id })).toEqual({ kind: 'late', known: false });
    expect(await open.stateOf(job.id)).toBe('READY');
    await open.commit([start(seq, { attempt: 2 }), finish(seq, { attempt: 2, end: lost, next: { state: 'LOST' } })]);
    expect(await late(2, 'at last')).toEqual({ kind: 'late', known: true });
    expect(await open.store.findInstance({ id: job.id })).toMatchObject({ state: 'LOST', message: 'gone' });
    expect((await open.store.listAttempts(job.id)).map((row) => [row.outcome, row.lateOutcome, row.lateMessage])).toEqual([
      ['LOST', 'SUCCESS', 'first'],
      ['LOST', 'SUCCESS', 'at last'],
    ]);
  });

  it('records no late result that says what the attempt ended with', async () => {
    const open = await opened();
    const job = admit();
    await open.one(finish(await open.running(job)));
    expect(await open.one({ kind: 'late', partition: 0, id: job.id, attempt: 1, outcome: 'SUCCESS', message: 'again' })).toEqual({ kind: 'late', known: true });
    expect(await open.store.listAttempts(job.id)).toMatchObject([{ lateOutcome: undefined, lateMessage: '' }]);
  });

  it('applies the transitions of one commit in their order', async () => {
    const open = await opened();
    const job = admit();
    const seq = (await open.admitted({ taskId: 'before' })) + 1;
    const outcomes = await open.commit([job, start(seq), finish(seq), admit({ start: { worker, fence: 3 } }), cancel({ taskId: 'task' })]);
    expect(outcomes).toMatchObject([
      { result: 'accepted', seq },
      { started: true },
      { applied: true },
      { result: 'accepted', placement: 'started' },
      { cancelling: [{ attempt: 1 }] },
    ]);
  });
}
