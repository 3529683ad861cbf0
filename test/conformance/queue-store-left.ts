import { expect, it } from 'vitest';
import { newId } from '../../shared/ids.js';
import type { FireRun } from '../../services/job-tracker/queue/queue-store.js';
import { runKey } from '../../services/job-tracker/queue/task-key.js';
import { admit, allPartitions, alter, cancel, endRuns, enroll, finish, fireRun, OpenStore, retry, t0, worker, type StoreBench } from './queue-store-bench.js';

/** Runs of a task that are too many to end in one transition. */
export function leftRuns(bench: () => StoreBench): void {
  const opened = () => OpenStore.of(bench().connect());
  const tried = { bound: { most: 2, halted: false } };
  const halted = { bound: { most: 2, halted: true } };
  const free = (scheduledAt: number, values: Partial<FireRun> = {}) => fireRun(scheduledAt, { taskKey: runKey('task', false, scheduledAt), ...values });
  const slot = { start: { worker, fence: 1 } };

  /** By their keys these are 5 held, 6 and 7 by hand, the latter with a worker, 4 and 3 ready, 2 with a worker, 1 ready, 0 waiting for its retry. */
  async function crowd() {
    const open = await opened();
    const { sched, version } = await open.enrolled({ needFeedback: true, submitNodeGroup: 'clients' });
    const schedule = { sched, version };
    const [hand, begun] = [newId(), newId()];
    const runs = [
      free(t0 + 5, slot), free(t0 + 4), free(t0 + 3, slot), free(t0 + 2), free(t0 + 1),
      fireRun(t0 + 1, { held: true }), fireRun(t0 + 6, { id: hand, taskKey: runKey('task', true, hand) }), fireRun(t0 + 7, { id: begun, taskKey: runKey('task', true, begun), ...slot }),
    ];
    const seqs = await open.made(schedule, runs);
    await open.one(retry(seqs[0] ?? 0, t0 + 500));
    const id = (i: number) => ({ id: runs[i]?.id ?? '', seq: seqs[i] ?? 0 });
    const ended = (i: number, placement = 'ready') => ({ ...id(i), placement, owedTo: 'clients' });
    return { open, schedule, id, ended };
  }

  it('changes nothing of a schedule with too many runs while they may begin', async () => {
    const { open, schedule } = await crowd();
    const many = { kind: 'alter', result: 'many', ...schedule, cancelled: [], running: [] };
    expect(await open.commit([alter('suspend', tried), alter('delete', tried), alter('delete', { bound: { most: 7, halted: false } })])).toEqual([many, many, many]);
    expect(await open.one(cancel({ taskId: 'task' }, tried))).toEqual({ kind: 'cancel', cancelled: [], cancelling: [], ended: [], many: true });
    expect(await open.store.readSchedule('group', 'task')).toMatchObject({ state: 'ACTIVE', version: 1 });
    expect(await open.store.recount('group', 100)).toEqual({ waiting: 2, ready: 4 });
    expect((await open.store.load(0)).schedules.left).toEqual([]);
    expect(await open.one(alter('delete', { version: 7, ...tried }))).toMatchObject({ result: 'stale' });
  });

  it('needs no bound where there are few, and takes all at once then', async () => {
    const { open, schedule } = await crowd();
    const outcome = await open.one(alter('delete', { bound: { most: 8, halted: false } }));
    expect(outcome).toMatchObject({ result: 'done', ...schedule });
    expect([outcome.cancelled.length, outcome.running.length, outcome.left]).toEqual([6, 2, undefined]);
  });

  it('deletes a schedule in parts, by the keys of its runs; those with a worker at once: they are not retried', async () => {
    const { open, schedule, id, ended } = await crowd();
    const running = [{ ...id(2), attempt: 1 }, { ...id(7), attempt: 1 }];
    expect(await open.one(alter('delete', halted))).toEqual({ kind: 'alter', result: 'done', ...schedule, cancelled: [ended(5, 'waiting'), ended(6)], running, left: true });
    expect((await open.store.load(0)).schedules.left).toEqual([{ nodeGroup: 'group', taskId: 'task', by: 'delete' }]);
    expect(await open.store.readSchedule('group', 'task')).toBeUndefined();
    expect(await open.one(retry(id(2).seq, t0))).toEqual({ kind: 'finish', applied: false, over: true });
    expect(await open.one(endRuns('delete'))).toEqual({ kind: 'endRuns', cancelled: [ended(4)], left: true });
    expect(await open.one(endRuns('delete'))).toEqual({ kind: 'endRuns', cancelled: [ended(3)], left: true });
    expect(await open.one(endRuns('delete'))).toEqual({ kind: 'endRuns', cancelled: [ended(0, 'waiting'), ended(1)], left: false });
    expect((await open.store.load(0)).schedules.left).toEqual([]);
    expect(await open.one(endRuns('delete'))).toEqual({ kind: 'endRuns', cancelled: [], left: false });
    expect(await open.store.findInstance({ id: id(1).id })).toMatchObject({ state: 'CANCELLED', endedAt: t0 + 5, message: expect.stringMatching(/its schedule was deleted/) });
    expect(await open.store.recount('group', 100)).toEqual({ waiting: 0, ready: 0 });
    expect(await open.store.readFeedback('clients', allPartitions, 0, t0, 10)).toHaveLength(6);
    expect(await open.one(finish(id(2).seq))).toMatchObject({ applied: true });
  });

  it('suspends in parts, and leaves runs by hand alone', async () => {
    const { open, id, ended } = await crowd();
    expect(await open.one(alter('suspend', halted))).toMatchObject({ result: 'done', version: 2, cancelled: [ended(5, 'waiting')], running: [id(2)], left: true });
    expect((await open.store.load(0)).schedules.left).toEqual([{ nodeGroup: 'group', taskId: 'task', by: 'suspend' }]);
    expect(await open.one(endRuns('delete'))).toEqual({ kind: 'endRuns', cancelled: [], left: false });
    expect(await open.one(endRuns('suspend', { most: 8 }))).toEqual({ kind: 'endRuns', cancelled: [ended(0, 'waiting'), ended(1), ended(3), ended(4)], left: false });
    expect(await open.stateOf(id(6).id)).toBe('READY');
    expect(await open.one(retry(id(7).seq, t0 + 600))).toMatchObject({ applied: true });
  });

  it('cancels a task in parts, with a job that has its name', async () => {
    const { open, id, ended } = await crowd();
    await open.one(alter('delete', halted));
    const job = admit();
    const seq = await open.admitted(job);
    expect(await open.one(cancel({ taskId: 'task' }, { bound: { most: 1, halted: true } }))).toEqual({
      kind: 'cancel', cancelled: [{ id: job.id, seq, placement: 'ready' }], cancelling: [{ ...id(2), attempt: 1 }, { ...id(7), attempt: 1 }], ended: [], left: true,
    });
    expect(await open.stateOf(id(2).id)).toBe('CANCELLING');
    expect((await open.store.load(0)).schedules.left.map(({ by }) => by)).toEqual(['delete', 'cancel']);
    expect(await open.one(endRuns('cancel', { most: 9 }))).toMatchObject({ cancelled: [ended(0, 'waiting'), ended(1), ended(3), ended(4)], left: false });
    expect(await open.store.findInstance({ id: id(0).id })).toMatchObject({ message: 'cancelled before its retry' });
  });

  it('ends what was there, and nothing that came after', async () => {
    const { open, ended, id } = await crowd();
    await open.one(alter('delete', halted));
    const schedule = await open.enrolled();
    const [seq] = await open.made(schedule, [free(t0)]);
    const left = [];
    for (let more = true; more; ) {
      const part = await open.one(endRuns('delete'));
      left.push(...part.cancelled);
      more = part.left;
    }
    expect(left).toEqual([ended(3), ended(4), ended(1), ended(0, 'waiting')]);
    expect((await open.store.readReady('group', undefined, 10)).map((row) => row.seq)).toEqual([seq]);
    expect(await open.stateOf(id(2).id)).toBe('EXECUTING');
  });

  it('begins again when it is asked for while runs are left, for those that came meanwhile', async () => {
    const { open, ended } = await crowd();
    await open.one(alter('suspend', halted));
    const { version } = await open.one(alter('resume', { version: 2, nextAt: t0 + 9_000 }));
    const run = free(t0);
    const [seq = 0] = await open.made({ sched: (await open.store.readSchedule('group', 'task'))?.sched ?? 0, version }, [run]);
    expect(await open.one(alter('suspend', { bound: { most: 3, halted: true } }))).toMatchObject({ result: 'done', version: 4, cancelled: [{ id: run.id, seq }], left: true });
    expect((await open.store.load(0)).schedules.left).toHaveLength(1);
    expect(await open.one(endRuns('suspend', { most: 9 }))).toMatchObject({ cancelled: [ended(0, 'waiting'), ended(1), ended(3), ended(4)], left: false });
  });

  it('lets the runs that workers have go on again when one of very many is resumed or replaced', async () => {
    const open = await opened();
    const schedule = await open.enrolled();
    const runs = Array.from({ length: 1_001 }, (_, i) => free(t0 + i, i < 2 ? slot : {}));
    const [first = 0, second = 0] = await open.made(schedule, runs);
    await open.one(alter('suspend', halted));
    expect(await open.one(retry(first, t0))).toMatchObject({ over: true });
    await open.one(alter('resume', { version: 2, nextAt: t0 + 9_000 }));
    expect(await open.one(retry(first, t0 + 600))).toMatchObject({ applied: true });
    await open.one(alter('suspend', halted));
    await open.one(enroll({ replaceOnExist: true }));
    expect(await open.one(retry(second, t0 + 600))).toMatchObject({ applied: true });
  });

  it('knows nothing of what is left in another group, of another task, or of another partition', async () => {
    const { open } = await crowd();
    await open.one(alter('delete', halted));
    const nothing = { kind: 'endRuns', cancelled: [], left: false };
    const wrong = [{ nodeGroup: 'nobody' }, { taskId: 'tas' }, { taskId: 'task#' }, { partition: 1 }];
    expect(await open.commit(wrong.map((values) => endRuns('delete', values)))).toEqual(wrong.map(() => nothing));
    expect((await open.store.load(1)).schedules.left).toEqual([]);
    expect((await open.store.load(0)).schedules.left).toHaveLength(1);
  });
}
