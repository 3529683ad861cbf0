import { expect, it } from 'vitest';
import { randomFillSync } from 'node:crypto';
import { idMaker, newId } from '../../shared/ids.js';
import { encodeJob } from '../../shared/grpc/job-codec.js';
import type { ScheduleKey, ScheduleRow } from '../../services/job-tracker/queue/queue-store.js';
import { runKey } from '../../services/job-tracker/queue/task-key.js';
import { admit, alter, cancel, enroll, finish, fire, fireRun, OpenStore, owner, passed, start, t0, type StoreBench } from './queue-store-bench.js';

/** Schedules: how they are taken in, read and kept. */
export function schedules(bench: () => StoreBench): void {
  const opened = () => OpenStore.of(bench().connect());
  const policy = { maxRetryTimes: 2, timeoutMs: 5_000, maxLost: 1, failOnLoss: true, retry: { law: 'FIXED' as const, delay: 7 } };
  const none = { kind: 'enroll', result: 'again', existingId: '' };

  /** A live schedule as it was taken in. */
  const rowOf = (sent: ReturnType<typeof enroll>, sched: number, values: Partial<ScheduleRow> = {}): ScheduleRow => ({
    sched, version: 1, id: sent.id, nodeGroup: sent.nodeGroup, taskId: sent.taskId, type: sent.type, priority: sent.priority, needFeedback: sent.needFeedback,
    submitNodeGroup: sent.submitNodeGroup, policy: sent.policy, plan: sent.plan, state: 'ACTIVE', nextAt: sent.nextAt, fires: 0, lastAt: undefined,
    createdAt: sent.createdAt, updatedAt: sent.createdAt, job: sent.job, ...values,
  });

  it('takes a schedule in, which is no instance', async () => {
    const open = await opened();
    const sent = enroll({ type: 'mail', priority: -3, policy, plan: '{"日":1}', needFeedback: true, submitNodeGroup: 'clients' });
    expect(await open.one(sent)).toEqual({ kind: 'enroll', result: 'accepted', sched: expect.any(Number), version: 1 });
    const row = await open.store.readSchedule('group', 'task');
    expect(row).toEqual(rowOf(sent, row?.sched ?? 0));
    expect(await open.store.readSchedules(0, undefined, t0 + 1_000, 10)).toEqual([row]);
    expect(await open.store.findSchedule('group', 'task')).toEqual(row);
    expect(await open.store.listSchedules({ nodeGroup: '', state: undefined, after: undefined, limit: 10 })).toEqual([{ ...row, job: undefined }]);
    expect(await open.store.findInstance({ id: sent.id })).toBeUndefined();
    expect(await open.store.findInstance({ taskId: 'task', nodeGroup: 'group' })).toBeUndefined();
    expect((await open.store.listInstances({ nodeGroup: '', taskId: '', states: [], before: undefined, limit: 10 })).rows).toEqual([]);
    expect(await open.store.load(0)).toMatchObject({ groups: [{ waiting: 0, ready: 0 }], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } });
    expect(await open.store.nextDue(0)).toBeUndefined();
  });

  it('keeps the JobClient group also of a schedule that owes no results', async () => {
    const open = await opened();
    await open.one(enroll({ needFeedback: false, submitNodeGroup: 'clients' }));
    expect(await open.store.findSchedule('group', 'task')).toMatchObject({ needFeedback: false, submitNodeGroup: 'clients' });
    expect(await open.store.countFeedback()).toEqual([]);
  });

  it('answers an id again, also within one commit, when it was replaced and when it is past', async () => {
    const open = await opened();
    const [first, second] = [enroll(), enroll({ replaceOnExist: true })];
    expect(await open.commit([first, first])).toMatchObject([{ result: 'accepted' }, { ...none, first: 'accepted' }]);
    await open.one(second);
    expect(await open.one(first)).toEqual({ ...none, first: 'accepted' });
    expect(await open.one(second)).toEqual({ ...none, first: 'replaced', existingId: first.id });
    await open.one(alter('delete'));
    expect(await open.one(first)).toEqual({ ...none, first: 'accepted' });
    expect(await open.one(second)).toEqual({ ...none, first: 'replaced', existingId: first.id });
    expect(await open.store.readSchedule('group', 'task')).toBeUndefined();
  });

  it('knows ids of jobs and of schedules together', async () => {
    const open = await opened();
    const [job, schedule] = [admit({ taskId: 'job' }), enroll()];
    await open.commit([job, schedule]);
    expect(await open.one(enroll({ id: job.id, taskId: 'other' }))).toEqual({ kind: 'enroll', result: 'conflict' });
    expect(await open.one(admit({ id: schedule.id, taskId: 'other' }))).toEqual({ kind: 'admit', result: 'conflict' });
    expect(await open.one({ ...schedule, job: encodeJob({ task_id: 'task', payload: Buffer.from('x') }) })).toEqual({ kind: 'enroll', result: 'conflict' });
    expect(await open.one(enroll({ id: job.id, job: job.job }))).toEqual({ ...none, first: 'accepted' });
    expect(await open.one(admit({ id: schedule.id, job: schedule.job }))).toEqual({ ...none, kind: 'admit', first: 'accepted' });
    await open.one(alter('delete'));
    expect(await open.one(admit({ id: schedule.id, taskId: 'other' }))).toEqual({ kind: 'admit', result: 'conflict' });
  });

  it.each([
    ['ready', {}],
    ['waiting', { dueAt: t0 + 10 }],
    ['started', { start: { worker: { nodeId: 'w', incarnation: 'w' }, fence: 1 } }],
  ])('ignores a schedule whose task a job has that is %s, also one that replaces', async (_where, values) => {
    const open = await opened();
    const job = admit(values);
    await open.one(job);
    const ignored = enroll();
    const duplicate = { kind: 'enroll', result: 'duplicate', existingId: job.id };
    expect(await open.one(ignored)).toEqual(duplicate);
    expect(await open.one(enroll({ replaceOnExist: true }))).toEqual(duplicate);
    expect(await open.one(ignored)).toEqual({ ...none, first: 'duplicate', existingId: job.id });
    expect(await open.store.readSchedule('group', 'task')).toBeUndefined();
    await open.one(cancel({ id: job.id }));
  });

  it('ignores a second schedule of a task, and keeps its id when the client made it', async () => {
    const open = await opened();
    const [first, second, third] = [enroll(), enroll({ plan: 'other' }), enroll({ clientId: false })];
    const { sched } = (await open.one(first)) as { sched: number };
    const duplicate = { kind: 'enroll', result: 'duplicate', existingId: first.id };
    expect(await open.one(second)).toEqual(duplicate);
    expect(await open.one(second)).toEqual({ ...none, first: 'duplicate', existingId: first.id });
    expect(await open.one(third)).toEqual(duplicate);
    expect(await open.one(third)).toEqual(duplicate);
    expect(await open.store.readSchedule('group', 'task')).toEqual(rowOf(first, sched));
    expect(await open.store.findInstance({ id: second.id })).toBeUndefined();
  });

  it('replaces a schedule, which keeps its number alone; its runs stay as they are', async () => {
    const open = await opened();
    const first = enroll();
    const { sched } = (await open.one(first)) as { sched: number };
    const run = fireRun(t0 + 1_000);
    await open.one(fire({ sched, version: 1 }, { runs: [run] }));
    await open.one(alter('suspend', { at: t0 + 1_500 }));
    const byHand = fireRun(t0, { taskKey: runKey('task', true, newId()), counts: false });
    await open.made({ sched, version: 2 }, [byHand]);
    const second = enroll({ replaceOnExist: true, type: 'mail', priority: 5, policy, plan: 'new', nextAt: t0 + 9_000, createdAt: t0 + 2_000, submitNodeGroup: 'clients' });
    expect(await open.one(second)).toEqual({ kind: 'enroll', result: 'replaced', sched, version: 3, existingId: first.id });
    expect(await open.store.readSchedule('group', 'task')).toEqual(rowOf(second, sched, { version: 3, lastAt: t0 + 1_000 }));
    expect(await open.stateOf(run.id)).toBe('CANCELLED');
    expect(await open.store.findInstance({ id: byHand.id })).toMatchObject({ state: 'READY', type: 'default', priority: 100, job: first.job });
  });

  it('owes a time that had come before it was replaced, and knows which one ran last', async () => {
    const open = await opened();
    const { sched } = (await open.one(enroll({ nextAt: t0 + 1_000 }))) as { sched: number };
    await open.one(fire({ sched, version: 1 }, { from: t0 + 1_000, nextAt: t0 + 2_000, runs: [fireRun(t0 + 1_000)] }));
    await open.one(enroll({ replaceOnExist: true, nextAt: t0 + 3_000, createdAt: t0 + 2_000 }));
    expect(await open.store.readSchedule('group', 'task')).toMatchObject({ nextAt: t0 + 2_000, lastAt: t0 + 1_000, fires: 0 });
    await open.one(enroll({ replaceOnExist: true, nextAt: t0 + 3_000, createdAt: t0 + 1_999 }));
    expect(await open.store.readSchedule('group', 'task')).toMatchObject({ nextAt: t0 + 3_000 });
  });

  it('replaces a schedule by one that comes late from a FailStore only when that one is the younger', async () => {
    const open = await opened();
    const [older, live, younger] = [enroll({ replaceOnExist: true, fromFailStore: true }), enroll(), enroll({ replaceOnExist: true, fromFailStore: true })];
    await open.one(live);
    expect(await open.one(older)).toEqual({ kind: 'enroll', result: 'duplicate', existingId: live.id });
    expect(await open.one(younger)).toMatchObject({ result: 'replaced', existingId: live.id });
  });

  it('takes a job of a task that has a schedule for a duplicate of it, also one that replaces', async () => {
    const open = await opened();
    const [schedule, job] = [enroll(), admit()];
    await open.one(schedule);
    const duplicate = { kind: 'admit', result: 'duplicate', existingId: schedule.id };
    expect(await open.one(job)).toEqual(duplicate);
    expect(await open.one(admit({ replaceOnExist: true }))).toEqual(duplicate);
    expect(await open.one(job)).toEqual({ ...none, kind: 'admit', first: 'duplicate', existingId: schedule.id });
    expect(await open.commit([admit({ taskId: 'task2' }), admit({ nodeGroup: 'second' })])).toMatchObject([{ result: 'accepted' }, { result: 'accepted' }]);
    await open.one(alter('delete'));
    expect(await open.one(admit())).toMatchObject({ result: 'accepted', placement: 'ready' });
  });

  it('knows the schedules that another owner took in, and its own when it is opened again', async () => {
    const [first, second] = [await opened(), await opened()];
    const again = await first.store.take([0], owner);
    await first.store.commit({ epochs: again, transitions: [enroll()] });
    const before = await first.store.readSchedule('group', 'task');
    const taken = await second.store.take([0], owner);
    expect(await second.store.commit({ epochs: taken, transitions: [admit()] })).toMatchObject([{ result: 'duplicate' }]);
    await expect(first.store.commit({ epochs: again, transitions: [alter('delete')] })).rejects.toMatchObject({ reason: 'STALE_EPOCH', rolledBack: true });
    await Promise.all([first.store.close(), second.store.close()]);
    const third = await opened();
    expect(await third.store.readSchedule('group', 'task')).toEqual(before);
    expect(await third.one(admit())).toMatchObject({ result: 'duplicate' });
  });

  it('never gives the number of a schedule again', async () => {
    const open = await opened();
    const first = await open.enrolled();
    await open.one(alter('delete'));
    const second = await open.enrolled();
    expect(second.sched).not.toBe(first.sched);
    expect(await open.one(fire(first, { runs: [fireRun(t0 + 1_000)] }))).toMatchObject({ applied: false });
  });

  it.each([
    ['priority', { priority: 1.5 }],
    ['id', { id: 'no-id' }],
  ])('refuses only the schedule whose %s it cannot store', async (_what, wrong) => {
    const open = await opened();
    expect(await open.commit([enroll({ taskId: 'before' }), enroll({ taskId: 'wrong', ...wrong }), admit({ taskId: 'after' })])).toMatchObject([
      { result: 'accepted' },
      { kind: 'enroll', result: 'refused', message: expect.stringMatching(/\w/) },
      { result: 'accepted', placement: 'ready' },
    ]);
    expect(await open.one(enroll({ taskId: 'wrong' }))).toMatchObject({ result: 'accepted' });
  });

  it('gives the owner what is due, by time and number, page by page', async () => {
    const open = await opened();
    const times = [30, 10, 20, 10, 40];
    await open.commit(times.map((after, i) => enroll({ taskId: `t${i}`, nextAt: t0 + after })));
    await open.commit([
      enroll({ taskId: 'elsewhere', partition: 1, nodeGroup: 'elsewhere', nextAt: t0 }), enroll({ taskId: 'resting', nextAt: undefined }), enroll({ taskId: 'off', nextAt: t0 }),
      alter('suspend', { taskId: 'off' }),
    ]);
    const names = async (after: ScheduleKey | undefined, until: number, limit: number) => (await open.store.readSchedules(0, after, until, limit)).map(({ taskId }) => taskId);
    expect(await names(undefined, t0 + 30, 10)).toEqual(['t1', 't3', 't2', 't0']);
    expect(await names(undefined, t0 + 9, 10)).toEqual([]);
    const [, last] = await open.store.readSchedules(0, undefined, t0 + 100, 2);
    expect(await names({ nextAt: last?.nextAt ?? 0, sched: last?.sched ?? 0 }, t0 + 100, 2)).toEqual(['t2', 't0']);
    expect(await names(undefined, t0 + 100, 1)).toEqual(['t1']);
    expect(await open.store.readSchedules(1, undefined, t0, 10)).toMatchObject([{ taskId: 'elsewhere', nodeGroup: 'elsewhere' }]);
    expect((await open.store.load(0)).schedules.resting).toMatchObject([{ taskId: 'resting', nextAt: undefined, job: expect.any(Buffer) }]);
    expect(await open.store.readSchedule('nobody', 'resting')).toBeUndefined();
  });

  it('brings small jobs to the owner and any job to people who ask for the one schedule', async () => {
    const open = await opened();
    const [small, large] = [enroll({ taskId: 'small', job: Buffer.alloc(4_096, 1) }), enroll({ taskId: 'large', nextAt: t0 + 2_000, job: Buffer.alloc(4_097, 2) })];
    await open.commit([small, large]);
    expect((await open.store.readSchedules(0, undefined, t0 + 9_000, 10)).map(({ job }) => job)).toEqual([small.job, undefined]);
    expect((await open.store.readSchedule('group', 'large'))?.job).toBeUndefined();
    expect((await open.store.readSchedule('group', 'small'))?.job).toEqual(small.job);
    expect((await open.store.findSchedule('group', 'large'))?.job).toEqual(large.job);
  });

  it('lists schedules by group and task, page by page, and by state', async () => {
    const open = await opened();
    await open.commit(['b', 'B', 'a'].flatMap((taskId) => ['second', 'group'].map((nodeGroup) => enroll({ taskId, nodeGroup }))));
    await open.commit([alter('suspend', { taskId: 'b' }), alter('suspend', { taskId: 'a', nodeGroup: 'second' })]);
    const all = { nodeGroup: '', state: undefined, after: undefined, limit: 10 };
    const names = async (filter: Partial<Parameters<typeof open.store.listSchedules>[0]>) =>
      (await open.store.listSchedules({ ...all, ...filter })).map(({ nodeGroup, taskId, state }) => `${nodeGroup}/${taskId} ${state}`);
    const [groupB, groupa, groupb] = ['group/B ACTIVE', 'group/a ACTIVE', 'group/b SUSPENDED'];
    const [secondB, seconda, secondb] = ['second/B ACTIVE', 'second/a SUSPENDED', 'second/b ACTIVE'];
    expect(await names({})).toEqual([groupB, groupa, groupb, secondB, seconda, secondb]);
    expect(await names({ limit: 2 })).toEqual([groupB, groupa]);
    expect(await names({ after: { nodeGroup: 'group', taskId: 'a' }, limit: 3 })).toEqual([groupb, secondB, seconda]);
    expect(await names({ nodeGroup: 'group', after: { nodeGroup: 'group', taskId: 'a' } })).toEqual([groupb]);
    expect(await names({ nodeGroup: 'second' })).toEqual([secondB, seconda, secondb]);
    expect(await names({ state: 'SUSPENDED' })).toEqual([groupb, seconda]);
    expect(await names({ state: 'ACTIVE', after: { nodeGroup: 'group', taskId: 'b' } })).toEqual([secondB, secondb]);
    expect(await open.store.findSchedule('group', 'nothing')).toBeUndefined();
  });

  it('finds the schedule of a task that became past last, with the last times of its task', async () => {
    const open = await opened();
    const find = (taskId = 'task') => open.store.findPastSchedule('group', taskId);
    const [first, second, third] = [enroll(), enroll({ replaceOnExist: true }), enroll({ taskId: 'other', job: Buffer.alloc(5_000, 3) })];
    const schedule = await open.enrolled(first);
    expect(await find()).toBeUndefined();
    await open.made(schedule, [fireRun(t0 + 1), { ...fireRun(t0 + 9), taskKey: runKey('task', true, newId()), counts: false }]);
    await open.one(second);
    await open.one(enroll({ taskId: 'other' }));
    expect(await find()).toMatchObject({ id: first.id });
    const row = await open.store.readSchedule('group', 'task');
    await open.one(fire({ sched: row?.sched ?? 0, version: 2 }, { from: row?.nextAt, passed: [passed(t0 + 1_000), passed(t0 + 1_001, { state: 'DISCARDED' })], over: true, nextAt: undefined, at: t0 + 1_500 }));
    const past = { id: second.id, nodeGroup: 'group', taskId: 'task', endedAt: t0 + 1_500, job: second.job, lastAt: t0 + 1, answeredAt: t0 + 1_500 };
    expect(await find()).toEqual(past);
    // A one-shot of that name is none.
    await open.one(admit({ taskId: 'task' }));
    expect(await find()).toEqual(past);
    expect(await open.store.findPastSchedule('nobody', 'task')).toBeUndefined();
    await open.one(alter('delete', { taskId: 'other', at: t0 + 2_000 }));
    await open.one(third);
    await open.one(cancel({ taskId: 'other' }, { at: t0 + 3_000 }));
    expect(await find('other')).toEqual({ id: third.id, nodeGroup: 'group', taskId: 'other', endedAt: t0 + 3_000, job: third.job, lastAt: undefined, answeredAt: undefined });
  });

  it('finds and lists runs by the task that the user knows', async () => {
    const open = await opened();
    const target = { taskId: 'task', nodeGroup: 'group' };
    const schedule = await open.enrolled();
    await open.enrolled({ taskId: 'task2' });
    const [first, second, free] = [fireRun(t0 + 1), fireRun(t0 + 2), fireRun(t0 + 3, { taskKey: runKey('task', false, t0 + 3) })];
    const [firstSeq = 0] = await open.made(schedule, [first, second], { passed: [passed(t0)] });
    const other = await open.store.readSchedule('group', 'task2');
    await open.made(other ?? schedule, [fireRun(t0 + 1, { taskKey: runKey('task2', true, t0 + 1) })]);
    expect(await open.store.findInstance(target)).toMatchObject({ id: second.id, taskId: 'task', scheduledAt: t0 + 2, dueAt: t0 + 2 });
    await open.made(schedule, [free]);
    expect(await open.store.findInstance(target)).toMatchObject({ id: free.id, taskId: 'task' });
    const list = async (taskId: string) => (await open.store.listInstances({ nodeGroup: 'group', taskId, states: [], before: undefined, limit: 10 })).rows;
    expect((await list('task')).map(({ taskId, scheduledAt, state }) => [taskId, scheduledAt - t0, state])).toEqual([
      ['task', 3, 'READY'], ['task', 0, 'MISSED'], ['task', 2, 'READY'], ['task', 1, 'READY'],
    ]);
    expect(await list('tas')).toEqual([]);
    await open.commit([cancel({ id: second.id }), cancel({ id: free.id }), start(firstSeq)]);
    expect(await open.store.findInstance(target)).toMatchObject({ id: first.id, state: 'EXECUTING' });
    await open.one(finish(firstSeq));
    expect(await open.store.findInstance(target)).toMatchObject({ id: free.id, state: 'CANCELLED' });
  });

  it('purges past schedules and what is over of them, and leaves what lives', async () => {
    const open = await opened();
    const oldId = idMaker(randomFillSync);
    const id = () => oldId(t0);
    const [gone, replaced, live] = [enroll({ id: id(), taskId: 'gone' }), enroll({ id: id() }), enroll({ id: id(), replaceOnExist: true })];
    const ignored = enroll({ id: id() });
    await open.commit([gone, replaced, live, ignored, alter('delete', { taskId: 'gone' })]);
    const row = await open.store.readSchedule('group', 'task');
    const [run, missed] = [fireRun(t0, { id: id() }), passed(t0, { id: id() })];
    const [seq = 0] = await open.made(row ?? { sched: 0, version: 0 }, [run], { passed: [missed], at: t0 + 1 });
    expect(await open.store.purge(t0 - 1, 100)).toBe(0);
    expect(await open.store.purge(t0 + 86_400_000, 100)).toBeGreaterThan(0);
    expect(await open.store.readSchedule('group', 'task')).toEqual(row);
    expect(await open.stateOf(run.id)).toBe('READY');
    expect(await open.stateOf(missed.id)).toBeUndefined();
    expect(await open.one(live)).toMatchObject({ result: 'again', first: 'replaced' });
    expect(await open.one({ ...gone, plan: 'new' })).toMatchObject({ result: 'accepted' });
    expect(await open.one(replaced)).toEqual({ kind: 'enroll', result: 'duplicate', existingId: live.id });
    expect(await open.one({ ...ignored, taskId: 'ignored' })).toMatchObject({ result: 'accepted' });
    await open.commit([start(seq), finish(seq)]);
    await open.store.purge(t0 + 86_400_000, 100);
    expect(await open.stateOf(run.id)).toBeUndefined();
  });

  it('takes 1,000 schedules of 4 KiB in one commit', async () => {
    const open = await opened();
    const outcomes = await open.commit(Array.from({ length: 1_000 }, (_, i) => enroll({ taskId: `t${i}`, job: Buffer.alloc(4_000, i) })));
    expect(outcomes.every((outcome) => 'result' in outcome && outcome.result === 'accepted')).toBe(true);
    expect(await open.store.readSchedules(0, undefined, t0 + 1_000, 10_000)).toHaveLength(1_000);
  });
}
