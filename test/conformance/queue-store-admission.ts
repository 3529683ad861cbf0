import { expect, it } from 'vitest';
import { encodeJob } from '../../shared/grpc/job-codec.js';
import { newId } from '../../shared/ids.js';
import { admit, finish, OpenStore, promote, retry, start, t0, worker, type StoreBench } from './queue-store-bench.js';

/** Step 1: what becomes of a job that is sent. */
export function admission(bench: () => StoreBench): void {
  const opened = () => OpenStore.of(bench().connect());

  it('places a job by its time, in order of arrival', async () => {
    const open = await opened();
    const outcomes = await open.commit([
      admit({ taskId: 'past', dueAt: t0 - 1 }),
      admit({ taskId: 'now', dueAt: t0 }),
      admit({ taskId: 'future', dueAt: t0 + 1 }),
    ]);
    expect(outcomes.map((outcome) => 'placement' in outcome && outcome.placement)).toEqual(['ready', 'ready', 'waiting']);
    const seqs = outcomes.map((outcome) => ('seq' in outcome ? outcome.seq : 0));
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
    expect(new Set(seqs).size).toBe(3);
  });

  it('starts a due job in the same commit when a slot is reserved', async () => {
    const open = await opened();
    const job = admit({ start: { worker, fence: 77 } });
    expect(await open.one(job)).toMatchObject({ result: 'accepted', placement: 'started' });
    const { executing, groups } = await open.store.load(0);
    expect(executing).toMatchObject([{ id: job.id, attempt: 1, fence: 77, worker, assignedAt: t0 }]);
    expect(groups).toEqual([{ nodeGroup: 'group', waiting: 0, ready: 0 }]);
  });

  it('starts neither a job that is not due nor a blocked one', async () => {
    const open = await opened();
    const reserved = { worker, fence: 1 };
    expect(await open.one(admit({ dueAt: t0 + 1, start: reserved }))).toMatchObject({ placement: 'waiting' });
    await open.running({ taskId: 'busy' });
    expect(await open.one(admit({ taskId: 'busy', start: reserved }))).toMatchObject({ placement: 'blocked' });
  });

  it.each(['ready', 'waiting'] as const)('ignores a duplicate of a job that is %s, and answers its id again', async (placement) => {
    const open = await opened();
    const first = admit({ dueAt: placement === 'ready' ? t0 : t0 + 10 });
    const second = admit();
    expect(await open.one(first)).toMatchObject({ result: 'accepted', placement });
    expect(await open.one(second)).toEqual({ kind: 'admit', result: 'duplicate', existingId: first.id });
    expect(await open.stateOf(second.id)).toBeUndefined();
    expect(await open.one(second)).toEqual({ kind: 'admit', result: 'again', first: 'duplicate', existingId: first.id });
    expect((await open.store.load(0)).groups).toMatchObject([{ ready: placement === 'ready' ? 1 : 0, waiting: placement === 'ready' ? 0 : 1 }]);
  });

  it('treats tasks of other groups and other tasks as different', async () => {
    const open = await opened();
    const outcomes = await open.commit([admit(), admit({ nodeGroup: 'second' }), admit({ taskId: 'Task' }), admit({ taskId: 'task ' })]);
    expect(outcomes.map((outcome) => 'result' in outcome && outcome.result)).toEqual(['accepted', 'accepted', 'accepted', 'accepted']);
  });

  it.each(['ready', 'waiting'] as const)('replaces a job that is %s when it is told to', async (placement) => {
    const open = await opened();
    const first = admit({ dueAt: placement === 'ready' ? t0 : t0 + 10, needFeedback: true, submitNodeGroup: 'clients' });
    const second = admit({ replaceOnExist: true, dueAt: t0 + 5 });
    const existingSeq = await open.admitted(first);
    const replaced = await open.one(second);
    expect(replaced).toEqual({
      kind: 'admit', result: 'replaced', seq: expect.any(Number), placement: 'waiting', existingId: first.id, existingSeq, existingPlacement: placement,
    });
    expect(await open.stateOf(first.id)).toBe('REPLACED');
    expect(await open.store.countFeedback()).toEqual([]);
    expect(await open.one(second)).toEqual({ kind: 'admit', result: 'again', first: 'replaced', existingId: first.id });
    expect(await open.one(first)).toEqual({ kind: 'admit', result: 'again', first: 'accepted', existingId: '' });
    expect(await open.store.load(0)).toMatchObject({ groups: [{ waiting: 1, ready: 0 }], nextDueAt: t0 + 5 });
  });

  it('starts a job at once that replaces another', async () => {
    const open = await opened();
    await open.admitted();
    expect(await open.one(admit({ replaceOnExist: true, start: { worker, fence: 1 } }))).toMatchObject({ result: 'replaced', placement: 'started' });
    expect((await open.store.load(0)).executing).toHaveLength(1);
  });

  it.each(['EXECUTING', 'CANCELLING'])('blocks one job behind a run that is %s, and only one', async (state) => {
    const open = await opened();
    const seq = await open.running();
    if (state === 'CANCELLING') await open.one({ kind: 'cancel', partition: 0, nodeGroup: 'group', taskId: 'task', at: t0 });
    const next = admit();
    expect(await open.one(next)).toMatchObject({ result: 'accepted', placement: 'blocked' });
    expect(await open.one(admit())).toEqual({ kind: 'admit', result: 'duplicate', existingId: next.id });
    expect(await open.store.findInstance({ id: next.id })).toMatchObject({ state: 'WAITING', blocked: true });
    const third = admit({ replaceOnExist: true });
    expect(await open.one(third)).toMatchObject({ result: 'replaced', placement: 'blocked', existingId: next.id, existingPlacement: 'blocked' });
    expect(await open.stateOf(next.id)).toBe('REPLACED');
    expect(await open.one(finish(seq))).toMatchObject({ applied: true, ready: { id: third.id } });
  });

  it('takes a job in retry back-off for a waiting one', async () => {
    const open = await opened();
    const first = admit();
    const seq = await open.running(first);
    await open.one(retry(seq, t0 + 100));
    expect(await open.one(admit())).toMatchObject({ result: 'duplicate', existingId: first.id });
    const replacing = admit({ replaceOnExist: true });
    expect(await open.one(replacing)).toMatchObject({ result: 'replaced', placement: 'ready', existingSeq: seq, existingPlacement: 'waiting' });
    expect(await open.store.findInstance({ id: first.id })).toMatchObject({ state: 'REPLACED', attempts: 1, retryTimes: 1 });
    expect(await open.store.load(0)).toMatchObject({ groups: [{ waiting: 0, ready: 1 }], nextDueAt: undefined });
  });

  it('meets the next one first, also while the current one is in retry back-off', async () => {
    const open = await opened();
    const first = admit();
    const seq = await open.running(first);
    const next = admit();
    await open.one(next);
    await open.one(retry(seq, t0 + 100));
    expect(await open.one(admit())).toMatchObject({ result: 'duplicate', existingId: next.id });
    expect(await open.one(admit({ replaceOnExist: true }))).toMatchObject({ result: 'replaced', placement: 'blocked', existingId: next.id });
    expect(await open.stateOf(first.id)).toBe('WAITING');
  });

  it('replaces a waiting job by one that comes late from a FailStore only when that one is the younger', async () => {
    const open = await opened();
    const [older, waiting, younger] = [admit({ replaceOnExist: true, fromFailStore: true }), admit(), admit({ replaceOnExist: true, fromFailStore: true })];
    await open.one(waiting);
    expect(await open.one(older)).toEqual({ kind: 'admit', result: 'duplicate', existingId: waiting.id });
    expect(await open.one(younger)).toMatchObject({ result: 'replaced', existingId: waiting.id });
  });

  it('takes a task again after its end', async () => {
    const open = await opened();
    await open.one(finish(await open.running()));
    expect(await open.one(admit())).toMatchObject({ result: 'accepted', placement: 'ready' });
  });

  it('answers an id again in every state, also within one batch', async () => {
    const open = await opened();
    const job = admit();
    const again = { kind: 'admit', result: 'again', first: 'accepted', existingId: '' };
    const [first, second] = await open.commit([job, job]);
    expect(first).toMatchObject({ result: 'accepted' });
    expect(second).toEqual(again);
    const { seq } = first as { seq: number };
    await open.one(start(seq));
    expect(await open.one(job)).toEqual(again);
    await open.one(finish(seq));
    expect(await open.one(job)).toEqual(again);
    expect((await open.store.load(0)).groups).toEqual([{ nodeGroup: 'group', waiting: 0, ready: 0 }]);
  });

  it('takes the same content in another encoding for the same', async () => {
    const open = await opened();
    const id = newId();
    const content = { task_id: 'task', node_group: 'group', instance_id: id };
    await open.admitted({ id, job: encodeJob({ ...content, ext_params: { a: '1', b: '2' } }) });
    expect(await open.one(admit({ id, job: encodeJob({ ...content, ext_params: { b: '2', a: '1' } }) }))).toMatchObject({ result: 'again' });
  });

  it.each([
    ['payload', { payload: Buffer.from([1]) }],
    ['parameter', { ext_params: { a: '1' } }],
    ['task', { task_id: 'other' }],
  ])('refuses an id that comes again with another %s', async (_what, change) => {
    const open = await opened();
    const id = newId();
    const content = { task_id: 'task', node_group: 'group', instance_id: id, payload: Buffer.from([0]) };
    await open.admitted({ id, job: encodeJob(content) });
    expect(await open.one(admit({ id, job: encodeJob({ ...content, ...change }) }))).toEqual({ kind: 'admit', result: 'conflict' });
    expect((await open.store.load(0)).groups).toMatchObject([{ ready: 1 }]);
  });

  it('compares the content of an ignored duplicate, too', async () => {
    const open = await opened();
    await open.admitted();
    const ignored = admit();
    await open.one(ignored);
    expect(await open.one({ ...ignored, job: encodeJob({ task_id: 'task', payload: Buffer.from('x') }) })).toEqual({ kind: 'admit', result: 'conflict' });
  });

  it('keeps nothing of an ignored duplicate whose id the scheduler made', async () => {
    const open = await opened();
    await open.admitted();
    const ignored = admit({ clientId: false });
    expect(await open.one(ignored)).toMatchObject({ result: 'duplicate' });
    expect(await open.one(ignored)).toMatchObject({ result: 'duplicate' });
  });

  it.each([
    ['priority', { priority: 1.5 }],
    ['time', { dueAt: Number.NaN }],
    ['id', { id: 'no-id' }],
  ])('refuses only the job whose %s it cannot store', async (_what, wrong) => {
    const open = await opened();
    const good = [admit({ taskId: 'before' }), admit({ taskId: 'after' })];
    const running = await open.running({ taskId: 'running' });
    const outcomes = await open.commit([good[0] ?? admit(), admit({ taskId: 'wrong', ...wrong }), finish(running), good[1] ?? admit()]);
    expect(outcomes).toMatchObject([
      { result: 'accepted', placement: 'ready' },
      { kind: 'admit', result: 'refused', message: expect.stringMatching(/\w/) },
      { kind: 'finish', applied: true },
      { result: 'accepted', placement: 'ready' },
    ]);
    expect(await open.store.load(0)).toMatchObject({ groups: [{ ready: 2 }], executing: [] });
    expect(await open.one(admit({ taskId: 'wrong' }))).toMatchObject({ result: 'accepted' });
  });

  it('takes 1,000 jobs of 4 KiB in one commit, and a payload of 1 MiB with any bytes', async () => {
    const open = await opened();
    const outcomes = await open.commit(Array.from({ length: 1_000 }, (_, i) => admit({ taskId: `t${i}`, job: Buffer.alloc(4_096, i) })));
    expect(outcomes.every((outcome) => 'placement' in outcome && outcome.placement === 'ready')).toBe(true);
    const large = admit({ taskId: 'large', priority: 1, job: Buffer.alloc(1_048_576, 0xfe) });
    await open.one(large);
    const found = await open.store.findInstance({ id: large.id });
    expect(found?.job?.equals(large.job)).toBe(true);
  });

  it('keeps texts of other scripts and tasks with quotes as they are', async () => {
    const open = await opened();
    const job = admit({ taskId: `o'brien "x"`, nodeGroup: 'group', type: '日本語 🙂' });
    await open.one(job);
    expect(await open.store.findInstance({ id: job.id })).toMatchObject({ taskId: `o'brien "x"`, type: '日本語 🙂' });
  });

  it('promotes what is due, oldest first, up to the limit', async () => {
    const open = await opened();
    await open.commit([30, 10, 20, 40].map((after) => admit({ taskId: `t${after}`, dueAt: t0 + after })));
    const first = await open.one(promote(t0 + 30, { limit: 2 }));
    expect(first.ready.map((row) => [row.nodeGroup, row.dueAt - t0, row.attempts])).toEqual([
      ['group', 10, 0],
      ['group', 20, 0],
    ]);
    expect(first.nextDueAt).toBe(t0 + 30);
    const second = await open.one(promote(t0 + 30));
    expect(second).toMatchObject({ ready: [{ dueAt: t0 + 30, job: expect.any(Buffer) }], nextDueAt: t0 + 40 });
    expect(await open.one(promote(t0 + 30))).toEqual({ kind: 'promote', ready: [], nextDueAt: t0 + 40 });
  });
}
