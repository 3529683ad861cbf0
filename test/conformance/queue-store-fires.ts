import { expect, it } from 'vitest';
import { newId } from '../../shared/ids.js';
import { type FireRun, heldUntil } from '../../services/job-tracker/queue/queue-store.js';
import { runKey } from '../../services/job-tracker/queue/task-key.js';
import { admit, allPartitions, alter, cancel, enroll, finish, fire, fireRun, OpenStore, passed, promote, release, retry, start, t0, worker, type StoreBench } from './queue-store-bench.js';

/** Fires of schedules, and the runs that are held. */
export function fires(bench: () => StoreBench): void {
  const opened = () => OpenStore.of(bench().connect());
  const notApplied = { kind: 'fire', applied: false, again: false, runs: [] };
  const byHand = (values = {}) => fireRun(t0 + 77, { taskKey: runKey('task', true, newId()), counts: false, ...values });

  it('makes a run with what the schedule says, and moves the schedule on', async () => {
    const open = await opened();
    const policy = { maxRetryTimes: 2, timeoutMs: 5_000, maxLost: 1, failOnLoss: true };
    const sent = enroll({ type: 'mail', priority: 7, policy, needFeedback: true, submitNodeGroup: 'clients' });
    await open.one(sent);
    const before = await open.store.readSchedule('group', 'task');
    const run = fireRun(t0 + 1_000);
    const outcome = await open.one(fire(before ?? { sched: 0, version: 0 }, { runs: [run] }));
    expect(outcome).toEqual({ kind: 'fire', applied: true, again: false, runs: [{ seq: expect.any(Number), placement: 'ready' }] });
    const seq = outcome.runs[0]?.seq ?? 0;
    expect(await open.store.readSchedule('group', 'task')).toEqual({ ...before, nextAt: t0 + 2_000, fires: 1, lastAt: t0 + 1_000 });
    expect(await open.store.findInstance({ id: run.id })).toEqual({
      seq, id: run.id, nodeGroup: 'group', taskId: 'task', type: 'mail', priority: 7, state: 'READY', blocked: false, createdAt: t0 + 1_001, dueAt: t0 + 1_000,
      scheduledAt: t0 + 1_000, endedAt: 0, attempts: 0, retryTimes: 0, lostTimes: 0, worker: '', message: '', job: sent.job,
    });
    expect(await open.store.readReady('group', undefined, 10)).toEqual([
      { seq, id: run.id, taskId: 'task', type: 'mail', priority: 7, dueAt: t0 + 1_000, scheduledAt: t0 + 1_000, attempts: 0, retryTimes: 0, lostTimes: 0, policy, job: sent.job },
    ]);
    await open.one(start(seq));
    expect(await open.store.readExecuting(0, 0, 10)).toMatchObject([{ id: run.id, taskId: 'task', dueAt: t0 + 1_000, scheduledAt: t0 + 1_000, policy }]);
    expect(await open.one(finish(seq))).toEqual({ kind: 'finish', applied: true, owedTo: 'clients' });
    expect(await open.store.readFeedback('clients', allPartitions, 0, t0, 10)).toMatchObject([{ id: run.id, taskId: 'task', scheduledAt: t0 + 1_000, state: 'SUCCEEDED' }]);
  });

  it('takes effect once, and only on the schedule, version and time that it names', async () => {
    const open = await opened();
    const { sched, version } = await open.enrolled();
    const before = await open.store.readSchedule('group', 'task');
    const run = fireRun(t0 + 1_000);
    const wrong = [fire({ sched: sched + 1_000, version }), fire({ sched, version: version + 1 }), fire({ sched, version }, { from: t0 + 999 })];
    expect(await open.commit(wrong.map((each) => ({ ...each, runs: [run] })))).toEqual([notApplied, notApplied, notApplied]);
    expect(await open.store.readSchedule('group', 'task')).toEqual(before);
    expect(await open.stateOf(run.id)).toBeUndefined();
    expect(await open.commit([fire({ sched, version }, { runs: [run] }), fire({ sched, version }, { runs: [fireRun(t0 + 1_000)] })])).toMatchObject([{ applied: true }, notApplied]);
    await open.one(alter('suspend'));
    expect(await open.one(fire({ sched, version: 2 }, { from: t0 + 2_000, runs: [fireRun(t0 + 2_000)] }))).toEqual(notApplied);
    expect(await open.one(fire({ sched, version: 2 }, { partition: 1, from: undefined, runs: [byHand()] }))).toEqual(notApplied);
  });

  it('hands a run out in the same commit, unless it is held', async () => {
    const open = await opened();
    const schedule = await open.enrolled();
    const [started, held] = [fireRun(t0 + 1, { start: { worker, fence: 7 } }), fireRun(t0 + 2, { start: { worker, fence: 8 }, held: true })];
    const outcome = await open.one(fire(schedule, { runs: [started, held] }));
    expect(outcome.runs.map(({ placement }) => placement)).toEqual(['started', 'waiting']);
    expect((await open.store.load(0)).executing).toMatchObject([{ id: started.id, attempt: 1, fence: 7, worker, assignedAt: t0 + 1_001, scheduledAt: t0 + 1 }]);
    expect(await open.store.listAttempts(held.id)).toEqual([]);
  });

  it('notes times that do not run as over from the beginning, without a job and without a result', async () => {
    const open = await opened();
    const schedule = await open.enrolled({ needFeedback: true, submitNodeGroup: 'clients', type: 'mail' });
    const [missed, discarded] = [passed(t0 + 1), passed(t0 + 2, { state: 'DISCARDED', message: 'another run goes on' })];
    expect(await open.one(fire(schedule, { passed: [missed, discarded] }))).toEqual({ kind: 'fire', applied: true, again: false, runs: [] });
    expect(await open.store.findInstance({ id: missed.id })).toMatchObject({
      state: 'MISSED', message: 'nobody was there', taskId: 'task', type: 'mail', scheduledAt: t0 + 1, dueAt: t0 + 1, createdAt: t0 + 1_001, endedAt: t0 + 1_001, attempts: 0,
      job: Buffer.alloc(0),
    });
    expect(await open.store.findInstance({ id: discarded.id })).toMatchObject({ state: 'DISCARDED', message: 'another run goes on' });
    expect(await open.store.listAttempts(missed.id)).toEqual([]);
    expect(await open.store.countFeedback()).toEqual([]);
    expect(await open.one(cancel({ id: missed.id }))).toMatchObject({ ended: [missed.id] });
    expect(await open.store.load(0)).toMatchObject({ groups: [{ waiting: 0, ready: 0 }], schedules: { guarded: [] } });
    expect(await open.store.readSchedule('group', 'task')).toMatchObject({ nextAt: t0 + 2_000, fires: 0, lastAt: undefined });
    expect((await open.store.listInstances({ nodeGroup: '', taskId: '', states: ['MISSED'], before: undefined, limit: 10 })).rows).toMatchObject([{ id: missed.id }]);
  });

  it.each(['runs', 'times that do not run'])('takes 1,001 rows in one fire, among them 1,000 %s', async (most) => {
    const open = await opened();
    const schedule = await open.enrolled();
    const runs = most === 'runs' ? 1_000 : 1;
    const made = Array.from({ length: runs }, (_, index) => fireRun(t0 + 1_001 + index, { held: index > 0 }));
    const rows = Array.from({ length: 1_001 - runs }, (_, index) => passed(t0 + 1 + index));
    const outcome = await open.one(fire(schedule, { runs: made, passed: rows, nextAt: t0 + 9_000 }));
    expect(outcome).toMatchObject({ kind: 'fire', applied: true });
    expect(new Set(outcome.runs.map(({ seq }) => seq)).size).toBe(runs);
    expect((await open.store.load(0)).schedules.guarded.map(({ id }) => id).toSorted()).toEqual(made.map(({ id }) => id).toSorted());
    expect((await open.store.listInstances({ nodeGroup: '', taskId: '', states: ['MISSED'], before: undefined, limit: 2_000 })).rows).toHaveLength(rows.length);
    expect(await open.store.readSchedule('group', 'task')).toMatchObject({ nextAt: t0 + 9_000, fires: runs });
  });

  it('counts the runs that count, and notes the last of them', async () => {
    const open = await opened();
    const schedule = await open.enrolled();
    await open.one(fire(schedule, { runs: [fireRun(t0 + 1), fireRun(t0 + 2), fireRun(t0 + 3, { counts: false })] }));
    expect(await open.store.readSchedule('group', 'task')).toMatchObject({ fires: 2, lastAt: t0 + 2 });
    await open.one(fire(schedule, { from: t0 + 2_000, nextAt: t0 + 3_000, runs: [fireRun(t0 + 4, { counts: false })] }));
    expect(await open.store.readSchedule('group', 'task')).toMatchObject({ fires: 2, lastAt: t0 + 2, nextAt: t0 + 3_000 });
  });

  it('makes the schedule past with its last fire; the run goes on with its retries', async () => {
    const open = await opened();
    const first = enroll();
    const { sched, version } = (await open.one(first)) as { sched: number; version: number };
    const run = fireRun(t0 + 1_000, { start: { worker, fence: 1 } });
    const { runs } = await open.one(fire({ sched, version }, { over: true, nextAt: undefined, runs: [run] }));
    const seq = runs[0]?.seq ?? 0;
    expect(await open.store.readSchedule('group', 'task')).toBeUndefined();
    expect(await open.one(first)).toMatchObject({ result: 'again', first: 'accepted' });
    expect(await open.one(retry(seq, t0 + 50))).toEqual({ kind: 'finish', applied: true, waitingUntil: t0 + 50 });
    expect(await open.one(alter('suspend'))).toMatchObject({ result: 'unknown' });
    expect(await open.one(enroll())).toMatchObject({ result: 'accepted' });
    expect((await open.one(promote(t0 + 60))).ready).toMatchObject([{ seq, dueAt: t0 + 50, scheduledAt: t0 + 1_000, attempts: 1 }]);
    expect(await open.store.readReady('group', undefined, 10)).toMatchObject([{ seq, dueAt: t0 + 50, scheduledAt: t0 + 1_000 }]);
    expect(await open.store.findInstance({ id: run.id })).toMatchObject({ dueAt: t0 + 50, scheduledAt: t0 + 1_000 });
  });

  it('makes runs by hand that move nothing, also of a suspended schedule', async () => {
    const open = await opened();
    const schedule = await open.enrolled();
    const run = byHand({ job: Buffer.from('other') });
    const before = await open.store.readSchedule('group', 'task');
    expect(await open.one(fire(schedule, { from: undefined, nextAt: undefined, runs: [run] }))).toMatchObject({ applied: true, runs: [{ placement: 'ready' }] });
    expect(await open.store.readSchedule('group', 'task')).toEqual(before);
    expect(await open.store.findInstance({ id: run.id })).toMatchObject({ state: 'READY', scheduledAt: t0 + 77, job: Buffer.from('other') });
    await open.one(alter('suspend'));
    expect(await open.one(fire(schedule, { from: undefined, runs: [byHand()] }))).toEqual(notApplied);
    expect(await open.one(fire({ ...schedule, version: 2 }, { from: undefined, runs: [byHand()] }))).toMatchObject({ applied: true });
    expect(await open.store.readSchedule('group', 'task')).toMatchObject({ state: 'SUSPENDED', nextAt: undefined, version: 2, fires: 0 });
  });

  it('makes nothing by hand when an id was taken before, by whatever it was', async () => {
    const open = await opened();
    const schedule = await open.enrolled();
    const [run, job] = [byHand(), admit({ taskId: 'job' })];
    await open.commit([fire(schedule, { from: undefined, runs: [run] }), job]);
    const again = { kind: 'fire', applied: false, again: true, runs: [] };
    const fresh = byHand();
    expect(await open.one(fire(schedule, { from: undefined, runs: [fresh, { ...run, taskKey: byHand().taskKey }] }))).toEqual(again);
    expect(await open.one(fire(schedule, { from: undefined, runs: [byHand({ id: job.id })] }))).toEqual(again);
    expect(await open.stateOf(fresh.id)).toBeUndefined();
    await open.one(cancel({ id: run.id }));
    expect(await open.one(fire(schedule, { from: undefined, runs: [run] }))).toEqual(again);
  });

  it('makes a run ready at once, whatever its time, and orders by it', async () => {
    const open = await opened();
    const schedule = await open.enrolled();
    await open.made(schedule, [fireRun(t0 + 99_000), fireRun(t0 - 5)]);
    expect((await open.store.readReady('group', undefined, 10)).map(({ dueAt }) => dueAt - t0)).toEqual([-5, 99_000]);
  });

  it('refuses the one fire that it cannot store, of which nothing is stored', async () => {
    const open = await opened();
    const schedule = await open.enrolled();
    const [good, job] = [fireRun(t0 + 1_000), admit({ taskId: 'job' })];
    await open.made(schedule, [fireRun(t0 + 5)]);
    for (const bad of [fireRun(t0 + 6, { id: 'no-id' }), fireRun(t0 + 5)]) {
      expect(await open.commit([fire(schedule, { runs: [good, bad] }), { ...job, id: newId(), taskId: bad.id }])).toMatchObject([
        { kind: 'refused', message: expect.stringMatching(/fire/) },
        { result: 'accepted' },
      ]);
    }
    expect(await open.stateOf(good.id)).toBeUndefined();
    expect(await open.store.readSchedule('group', 'task')).toMatchObject({ nextAt: t0 + 1_000, fires: 0 });
    expect(await open.one(fire(schedule, { runs: [good] }))).toMatchObject({ applied: true });
  });

  it('makes 1,000 runs in one commit, and 100 of one schedule', async () => {
    const open = await opened();
    const sent = Array.from({ length: 900 }, (_, i) => enroll({ taskId: `t${i}` }));
    const taken = (await open.commit(sent)) as { sched: number; version: number }[];
    const many = await open.enrolled();
    const outcomes = await open.commit([
      ...taken.map((schedule, i) => fire(schedule, { runs: [fireRun(t0 + 1_000, { taskKey: runKey(`t${i}`, true, t0 + 1_000) })] })),
      fire(many, { runs: Array.from({ length: 50 }, (_, i) => fireRun(t0 + i)), passed: Array.from({ length: 50 }, (_, i) => passed(t0 - 1 - i)) }),
    ]);
    expect(outcomes.every((outcome) => outcome.kind === 'fire' && outcome.applied)).toBe(true);
    expect(await open.store.recount('group', 10_000)).toEqual({ waiting: 0, ready: 950 });
    const seqs = outcomes.flatMap((outcome) => (outcome.kind === 'fire' ? outcome.runs.map(({ seq }) => seq) : []));
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
    expect((await open.store.load(0)).schedules.guarded).toHaveLength(950);
  });

  it('holds a run until it is released, without a time at which it would be due', async () => {
    const open = await opened();
    const sent = enroll({ type: 'mail', policy: { maxRetryTimes: 1, timeoutMs: 0, maxLost: 3, failOnLoss: false } });
    const schedule = (await open.one(sent)) as { sched: number; version: number };
    const run = fireRun(t0 + 1_000, { held: true });
    const { runs } = await open.one(fire(schedule, { runs: [run] }));
    const seq = runs[0]?.seq ?? 0;
    expect(await open.store.nextDue(0)).toBeUndefined();
    expect(await open.store.load(0)).toMatchObject({
      groups: [{ waiting: 1, ready: 0 }], nextDueAt: undefined,
      schedules: { guarded: [{ seq, id: run.id, nodeGroup: 'group', taskKey: run.taskKey, stands: 'held', dueAt: heldUntil }] },
    });
    expect(await open.store.recount('group', 10)).toEqual({ waiting: 1, ready: 0 });
    expect(await open.store.findInstance({ id: run.id })).toMatchObject({ state: 'WAITING', blocked: false, dueAt: heldUntil, scheduledAt: t0 + 1_000 });
    await open.admitted({ taskId: 'later', dueAt: t0 + 99 });
    expect(await open.store.nextDue(0)).toBe(t0 + 99);
    expect(await open.one(promote(t0 + 99))).toMatchObject({ ready: [{ dueAt: t0 + 99 }], nextDueAt: undefined });
    expect(await open.one(promote(heldUntil))).toEqual({ kind: 'promote', ready: [], nextDueAt: undefined });
    expect(await open.one(release(seq))).toEqual({
      kind: 'release',
      ready: {
        nodeGroup: 'group', seq, id: run.id, type: 'mail', priority: 100, dueAt: t0 + 1_000, scheduledAt: t0 + 1_000, attempts: 0, retryTimes: 0, lostTimes: 0,
        policy: sent.policy, job: sent.job,
      },
    });
    expect(await open.one(release(seq))).toEqual({ kind: 'release', ready: undefined });
    expect(await open.store.findInstance({ id: run.id })).toMatchObject({ state: 'READY', dueAt: t0 + 1_000 });
    expect(await open.one(start(seq))).toMatchObject({ started: true });
  });

  it('releases nothing that is not held', async () => {
    const open = await opened();
    const schedule = await open.enrolled();
    const [ready, executing, waiting, ended, elsewhere] = await open.made(schedule, [
      fireRun(t0 + 1), fireRun(t0 + 2, { start: { worker, fence: 1 } }), fireRun(t0 + 3, { start: { worker, fence: 1 } }),
      fireRun(t0 + 4, { start: { worker, fence: 1 } }), fireRun(t0 + 5, { held: true }),
    ]);
    await open.commit([retry(waiting ?? 0, t0 + 500), finish(ended ?? 0)]);
    const seqs = [ready, executing, waiting, ended, 99_999].map((seq) => release(seq ?? 0));
    expect(await open.commit([...seqs, release(elsewhere ?? 0, { partition: 1 })])).toEqual(Array.from({ length: 6 }, () => ({ kind: 'release', ready: undefined })));
    expect(await open.one(release(elsewhere ?? 0))).toMatchObject({ ready: { seq: elsewhere } });
  });

  it('tells a new owner the guarded runs that live, and where they stand', async () => {
    const open = await opened();
    const schedule = await open.enrolled({ taskId: 'a' });
    const elsewhere = await open.enrolled({ partition: 1, nodeGroup: 'elsewhere' });
    const key = (which: number) => ({ taskKey: runKey('a', true, which) });
    const slot = { start: { worker, fence: 1 } };
    const runs = [
      fireRun(t0 + 1, { ...key(1), held: true }), fireRun(t0 + 2, key(2)), fireRun(t0 + 3, { ...key(3), ...slot }), fireRun(t0 + 4, { ...key(4), ...slot }),
      fireRun(t0 + 5, { ...key(5), ...slot }), fireRun(t0 + 6, { taskKey: runKey('a', false, 6) }), fireRun(t0 + 7, { taskKey: runKey('a', true, newId()) }),
    ];
    const seqs = await open.made(schedule, runs);
    await open.made(elsewhere, [fireRun(t0)], { partition: 1, nodeGroup: 'elsewhere' });
    await open.commit([admit({ taskId: 'one-shot' }), retry(seqs[3] ?? 0, t0 + 500), finish(seqs[4] ?? 0), cancel({ id: runs[2]?.id ?? '' })]);
    const { guarded } = (await open.store.load(0)).schedules;
    expect(guarded.toSorted((a, b) => a.seq - b.seq)).toEqual(
      ([[0, 'held', heldUntil], [1, 'active', t0 + 2], [2, 'active', t0 + 3], [3, 'waiting', t0 + 500], [6, 'active', t0 + 7]] as const).map(([i, stands, dueAt]) => ({
        seq: seqs[i], id: runs[i]?.id, nodeGroup: 'group', taskKey: runs[i]?.taskKey, stands, dueAt,
      })),
    );
  });

  it('ends what waits as it is told, and leaves alone what runs', async () => {
    const open = await opened();
    const schedule = await open.enrolled({ needFeedback: true, submitNodeGroup: 'clients' });
    const runs = [fireRun(t0 + 1, { held: true }), fireRun(t0 + 2, { start: { worker, fence: 1 } }), fireRun(t0 + 3, { start: { worker, fence: 1 } }), fireRun(t0 + 4)];
    const [held = 0, waiting = 0, , ready = 0] = await open.made(schedule, runs);
    const [heldId = '', waitingId = '', runningId = '', readyId = ''] = runs.map(({ id }) => id);
    await open.one(retry(waiting, t0 + 500));
    const discarded = { state: 'DISCARDED', message: 'covered' } as const;
    const failed = { state: 'FAILED', message: 'gave way' } as const;
    const cancelled = { state: 'CANCELLED', message: 'covered, too' } as const;
    const nothing = { kind: 'cancel', cancelled: [], cancelling: [], ended: [] };
    expect(await open.commit([
      cancel({ id: heldId }, { as: discarded }), cancel({ id: waitingId }, { as: failed }), cancel({ id: runningId }, { as: failed }), cancel({ id: readyId }, { as: cancelled }),
      cancel({ id: heldId }, { as: failed }),
    ])).toEqual([
      { ...nothing, cancelled: [{ id: heldId, seq: held, placement: 'waiting', owedTo: 'clients' }] },
      { ...nothing, cancelled: [{ id: waitingId, seq: waiting, placement: 'waiting', owedTo: 'clients' }] },
      nothing,
      { ...nothing, cancelled: [{ id: readyId, seq: ready, placement: 'ready', owedTo: 'clients' }] },
      { ...nothing, ended: [heldId] },
    ]);
    expect(await open.store.findInstance({ id: heldId })).toMatchObject({ ...discarded, endedAt: t0 + 4, attempts: 0 });
    expect(await open.store.findInstance({ id: waitingId })).toMatchObject({ ...failed, attempts: 1, retryTimes: 1 });
    expect(await open.store.findInstance({ id: readyId })).toMatchObject(cancelled);
    expect(await open.stateOf(runningId)).toBe('EXECUTING');
    expect((await open.store.load(0)).schedules.guarded).toMatchObject([{ id: runningId }]);
    expect(await open.store.readFeedback('clients', allPartitions, 0, t0, 10)).toMatchObject([{ state: 'DISCARDED' }, { state: 'FAILED' }, { state: 'CANCELLED' }]);
  });

  it('reads the live runs that are not guarded, by key, of this task alone', async () => {
    const open = await opened();
    const schedule = await open.enrolled();
    const other = await open.enrolled({ taskId: 'task2' });
    const free = (at: number, values: Partial<FireRun> = {}, task = 'task') => fireRun(at, { taskKey: runKey(task, false, at), ...values });
    const runs = [free(t0 + 4), free(t0 + 3, { start: { worker, fence: 1 } }), free(t0 + 2), free(t0 + 1, { held: true }), fireRun(t0 + 5)];
    const seqs = await open.made(schedule, runs);
    await open.made(other, [free(t0, {}, 'task2')]);
    await open.one(retry(seqs[1] ?? 0, t0 + 500));
    await open.one(cancel({ id: runs[2]?.id ?? '' }));
    const row = (i: number) => ({ seq: seqs[i], id: runs[i]?.id, nodeGroup: 'group', taskKey: runs[i]?.taskKey });
    const all = [{ ...row(3), stands: 'held', dueAt: heldUntil }, { ...row(1), stands: 'waiting', dueAt: t0 + 500 }, { ...row(0), stands: 'active', dueAt: t0 + 4 }];
    expect(await open.store.readFreeRuns('group', 'task', 10)).toEqual(all);
    expect(await open.store.readFreeRuns('group', 'task', 2)).toEqual(all.slice(0, 2));
    expect(await open.store.readFreeRuns('nobody', 'task', 10)).toEqual([]);
  });
}
