import { expect, it } from 'vitest';
import { newId } from '../../shared/ids.js';
import type { FireRun } from '../../services/job-tracker/queue/queue-store.js';
import { runKey } from '../../services/job-tracker/queue/task-key.js';
import { admit, allPartitions, alter, cancel, enroll, finish, fire, fireRun, OpenStore, promote, release, retry, start, t0, worker, type StoreBench } from './queue-store-bench.js';

/** Schedules that are suspended, resumed, deleted and cancelled, and what becomes of their runs. */
export function alters(bench: () => StoreBench): void {
  const opened = () => OpenStore.of(bench().connect());
  const slot = { start: { worker, fence: 1 } };
  const byHand = (scheduledAt: number, values: Partial<FireRun> = {}) => fireRun(scheduledAt, { taskKey: runKey('task', true, newId()), counts: false, ...values });
  const over = { kind: 'finish', applied: false, over: true };
  const unknown = { kind: 'alter', result: 'unknown', sched: 0, version: 0, cancelled: [], running: [] };

  /** A schedule with a run of every kind: held, ready, waiting for its retry, running, and by hand ready and running. */
  async function busy() {
    const open = await opened();
    const sent = enroll({ needFeedback: true, submitNodeGroup: 'clients' });
    const { sched, version } = (await open.one(sent)) as { sched: number; version: number };
    const runs = [
      fireRun(t0 + 1, { taskKey: runKey('task', false, t0 + 1), held: true }), fireRun(t0 + 2), fireRun(t0 + 3, slot), fireRun(t0 + 4, slot), byHand(t0 + 5), byHand(t0 + 6, slot),
    ];
    const seqs = await open.made({ sched, version }, runs);
    await open.one(retry(seqs[2] ?? 0, t0 + 500));
    const at = (i: number) => ({ id: runs[i]?.id ?? '', seq: seqs[i] ?? 0 });
    const ended = (i: number, placement: string) => ({ ...at(i), placement, owedTo: 'clients' });
    return { open, sent, sched, at, ended, live: [ended(0, 'waiting'), ended(1, 'ready'), ended(2, 'waiting')] };
  }

  it('suspends a schedule: what waits of it ends, what runs has its last attempt, runs by hand stay', async () => {
    const { open, sched, at, live } = await busy();
    const before = await open.store.readSchedule('group', 'task');
    expect(await open.one(alter('suspend'))).toEqual({ kind: 'alter', result: 'done', sched, version: 2, cancelled: live, running: [{ ...at(3), attempt: 1 }] });
    expect(await open.store.readSchedule('group', 'task')).toEqual({ ...before, state: 'SUSPENDED', nextAt: undefined, version: 2, updatedAt: t0 + 4 });
    expect(await open.store.readSchedules(0, undefined, t0 + 9_000, 10)).toEqual([]);
    expect((await open.store.load(0)).schedules.resting).toEqual([]);
    expect(await open.stateOf(at(0).id)).toBe('CANCELLED');
    expect(await open.store.findInstance({ id: at(2).id })).toMatchObject({ state: 'CANCELLED', attempts: 1, retryTimes: 1, endedAt: t0 + 4, message: expect.stringMatching(/suspended/) });
    expect(await open.stateOf(at(3).id)).toBe('EXECUTING');
    expect(await open.stateOf(at(4).id)).toBe('READY');
    expect((await open.store.readExecuting(0, 0, 10)).map(({ cancelling }) => cancelling)).toEqual([false, false]);
    expect(await open.store.readFeedback('clients', allPartitions, 0, t0, 10)).toMatchObject([{ id: at(0).id, taskId: 'task' }, { id: at(1).id }, { id: at(2).id }]);
    expect(await open.store.recount('group', 10)).toEqual({ waiting: 0, ready: 1 });
    expect(await open.one(alter('suspend'))).toEqual({ kind: 'alter', result: 'unchanged', sched, version: 2, cancelled: [], running: [] });
    expect(await open.one(promote(t0 + 9_000))).toEqual({ kind: 'promote', ready: [], nextDueAt: undefined });
  });

  it('lets no run of a suspended schedule wait again, but those by hand', async () => {
    const { open, at } = await busy();
    await open.one(alter('suspend'));
    const [running, hand] = [at(3), at(5)];
    expect(await open.one(retry(running.seq, t0 + 600, { attempt: 2 }))).toEqual({ kind: 'finish', applied: false });
    expect(await open.commit([retry(running.seq, t0 + 600), retry(running.seq, t0)])).toEqual([over, over]);
    expect(await open.stateOf(running.id)).toBe('EXECUTING');
    expect(await open.one({ kind: 'reassign', partition: 0, seq: running.seq, attempt: 1, worker, at: t0 })).toMatchObject({ applied: true });
    expect(await open.one(retry(running.seq, t0 + 600))).toEqual(over);
    expect(await open.one(finish(running.seq, { next: { state: 'FAILED' } }))).toEqual({ kind: 'finish', applied: true, owedTo: 'clients' });
    expect(await open.stateOf(running.id)).toBe('FAILED');
    expect(await open.one(retry(hand.seq, t0 + 600))).toEqual({ kind: 'finish', applied: true, waitingUntil: t0 + 600 });
  });

  it('says nothing of the schedule when the run is being cancelled', async () => {
    const { open, at } = await busy();
    await open.one(alter('suspend'));
    await open.one(cancel({ id: at(3).id }));
    expect(await open.stateOf(at(3).id)).toBe('CANCELLING');
    expect(await open.one(retry(at(3).seq, t0 + 600))).toEqual({ kind: 'finish', applied: false });
    await open.one(alter('resume', { version: 2, nextAt: t0 + 7_000 }));
    expect(await open.stateOf(at(3).id)).toBe('CANCELLING');
    expect(await open.one(alter('delete'))).toMatchObject({ running: [at(3), at(5)] });
    expect(await open.stateOf(at(3).id)).toBe('CANCELLING');
    expect(await open.one(retry(at(3).seq, t0 + 600))).toEqual({ kind: 'finish', applied: false });
  });

  it('resumes a schedule under its version, and lets its runs go on again', async () => {
    const { open, sched, at } = await busy();
    await open.one(alter('suspend'));
    const outcome = { kind: 'alter', sched, version: 2, cancelled: [], running: [] };
    const resume = alter('resume', { version: 2, nextAt: t0 + 7_000, at: t0 + 8 });
    expect(await open.commit([{ ...resume, version: undefined }, { ...resume, version: 1 }])).toEqual([{ ...outcome, result: 'stale' }, { ...outcome, result: 'stale' }]);
    expect(await open.one(resume)).toEqual({ ...outcome, result: 'done', version: 3 });
    expect(await open.store.readSchedule('group', 'task')).toMatchObject({ state: 'ACTIVE', nextAt: t0 + 7_000, version: 3, updatedAt: t0 + 8 });
    expect(await open.commit([resume, { ...resume, version: 3 }])).toEqual([{ ...outcome, version: 3, result: 'stale' }, { ...outcome, version: 3, result: 'unchanged' }]);
    expect(await open.one(fire({ sched, version: 3 }, { from: t0 + 7_000, runs: [fireRun(t0 + 7_000)] }))).toMatchObject({ applied: true });
    expect(await open.one(retry(at(3).seq, t0 + 600))).toEqual({ kind: 'finish', applied: true, waitingUntil: t0 + 600 });
  });

  it('resumes a schedule without a next time, which rests', async () => {
    const open = await opened();
    await open.enrolled();
    await open.commit([alter('suspend'), alter('resume', { version: 2 })]);
    expect((await open.store.load(0)).schedules.resting).toMatchObject([{ taskId: 'task', state: 'ACTIVE', nextAt: undefined, version: 3 }]);
  });

  it('lets runs go on again when the suspended schedule is replaced', async () => {
    const { open, at } = await busy();
    await open.commit([alter('suspend'), enroll({ replaceOnExist: true })]);
    expect(await open.one(retry(at(3).seq, t0 + 600))).toMatchObject({ applied: true });
  });

  it('gives a resting schedule its next time, under its version', async () => {
    const open = await opened();
    const { sched } = await open.enrolled();
    await open.one(fire({ sched, version: 1 }, { nextAt: undefined, runs: [fireRun(t0 + 1_000)] }));
    const outcome = { kind: 'alter', sched, version: 1, cancelled: [], running: [] };
    const next = alter('next', { version: 1, nextAt: t0 + 5_000, at: t0 + 9 });
    expect(await open.commit([{ ...next, version: undefined }, { ...next, version: 2 }])).toEqual([{ ...outcome, result: 'stale' }, { ...outcome, result: 'stale' }]);
    expect(await open.one(next)).toEqual({ ...outcome, result: 'done', version: 2 });
    expect(await open.store.readSchedule('group', 'task')).toMatchObject({ nextAt: t0 + 5_000, version: 2, fires: 1, lastAt: t0 + 1_000, updatedAt: t0 + 9 });
    expect(await open.store.readReady('group', undefined, 10)).toHaveLength(1);
    expect(await open.one({ ...next, version: 2 })).toEqual({ ...outcome, version: 2, result: 'unchanged' });
    await open.one(alter('suspend'));
    expect(await open.one({ ...next, version: 3 })).toEqual({ ...outcome, version: 3, result: 'unchanged' });
  });

  it('deletes a schedule with what waits of it, also by hand; what runs has its last attempt for good', async () => {
    const { open, sent, sched, at, ended, live } = await busy();
    expect(await open.one(alter('delete', { version: 2 }))).toEqual({ kind: 'alter', result: 'stale', sched, version: 1, cancelled: [], running: [] });
    expect(await open.one(alter('delete', { version: 1 }))).toEqual({
      kind: 'alter', result: 'done', sched, version: 1, cancelled: [...live, ended(4, 'ready')], running: [{ ...at(3), attempt: 1 }, { ...at(5), attempt: 1 }],
    });
    expect(await open.store.readSchedule('group', 'task')).toBeUndefined();
    expect(await open.store.findSchedule('group', 'task')).toBeUndefined();
    expect(await open.one(alter('delete'))).toEqual(unknown);
    expect(await open.one(fire({ sched, version: 1 }, { from: undefined, runs: [byHand(t0)] }))).toMatchObject({ applied: false });
    expect(await open.one(sent)).toMatchObject({ result: 'again', first: 'accepted' });
    expect(await open.one(enroll())).toMatchObject({ result: 'accepted', version: 1 });
    expect(await open.commit([retry(at(3).seq, t0 + 600), retry(at(5).seq, t0 + 600)])).toEqual([over, over]);
    expect(await open.one(finish(at(3).seq))).toMatchObject({ applied: true });
  });

  it('is about the runs of an earlier schedule of the task, too', async () => {
    const open = await opened();
    const schedule = await open.enrolled();
    const run = fireRun(t0 + 1_000, slot);
    const { runs } = await open.one(fire(schedule, { over: true, runs: [run] }));
    const seq = runs[0]?.seq ?? 0;
    await open.enrolled();
    expect(await open.one(alter('suspend'))).toMatchObject({ running: [{ id: run.id, seq }] });
    expect(await open.one(retry(seq, t0 + 600))).toEqual(over);
  });

  it('knows only live schedules of the task, group and partition', async () => {
    const open = await opened();
    await open.commit([admit({ taskId: 'job' }), enroll()]);
    const wrong = [{ taskId: 'job' }, { taskId: 'task2' }, { nodeGroup: 'nobody' }, { partition: 1 }];
    expect(await open.commit(wrong.map((values) => alter('delete', values)))).toEqual(wrong.map(() => unknown));
    expect(await open.stateOf((await open.store.readReady('group', undefined, 1))[0]?.id ?? '')).toBe('READY');
  });

  it('cancels by task the schedule and all its runs', async () => {
    const { open, sent, at, ended, live } = await busy();
    const other = await open.enrolled({ taskId: 'task2' });
    await open.made(other, [fireRun(t0, { taskKey: runKey('task2', true, t0) })]);
    expect(await open.one(cancel({ taskId: 'task' }))).toEqual({
      kind: 'cancel', cancelled: [...live, ended(4, 'ready')], cancelling: [{ ...at(3), attempt: 1 }, { ...at(5), attempt: 1 }], ended: [], schedule: sent.id,
    });
    expect(await open.store.readSchedule('group', 'task')).toBeUndefined();
    expect(await open.store.readSchedule('group', 'task2')).toBeDefined();
    expect(await open.stateOf(at(0).id)).toBe('CANCELLED');
    expect(await open.stateOf(at(3).id)).toBe('CANCELLING');
    expect(await open.one(retry(at(3).seq, t0))).toEqual({ kind: 'finish', applied: false });
    expect(await open.one(release(at(0).seq))).toEqual({ kind: 'release', ready: undefined });
    expect(await open.one(start(at(1).seq))).toEqual({ kind: 'start', started: false });
    expect(await open.one(sent)).toMatchObject({ result: 'again', first: 'accepted' });
    expect((await open.store.load(0)).groups).toMatchObject([{ waiting: 0, ready: 1 }]);
    expect(await open.one(admit())).toMatchObject({ result: 'accepted', placement: 'ready' });
  });

  it('cancels by task the runs of a schedule that is over, after a job that has the task by now', async () => {
    const open = await opened();
    const schedule = await open.enrolled();
    const run = fireRun(t0 + 1_000);
    const { runs } = await open.one(fire(schedule, { over: true, runs: [run] }));
    const job = admit();
    const seq = await open.admitted(job);
    expect(await open.one(cancel({ taskId: 'task' }))).toEqual({
      kind: 'cancel', cancelled: [{ id: job.id, seq, placement: 'ready' }, { id: run.id, seq: runs[0]?.seq, placement: 'ready' }], cancelling: [], ended: [],
    });
  });

  it('cancels a run by its id alone, and no schedule by its id', async () => {
    const { open, sent, sched, at } = await busy();
    const nothing = { kind: 'cancel', cancelled: [], cancelling: [], ended: [] };
    expect(await open.one(cancel({ id: sent.id }))).toEqual(nothing);
    expect(await open.one(cancel({ id: at(1).id }))).toMatchObject({ cancelled: [{ ...at(1), placement: 'ready' }] });
    expect(await open.one(cancel({ id: at(3).id }))).toMatchObject({ cancelling: [at(3)] });
    expect(await open.store.readSchedule('group', 'task')).toMatchObject({ sched, version: 1, state: 'ACTIVE' });
    await open.one(alter('delete'));
    expect(await open.one(cancel({ id: sent.id }))).toEqual(nothing);
  });
}
