import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeJob, encodeJob } from '../../shared/grpc/job-codec.js';
import { checkJob } from '../../shared/job/check-job.js';
import { minuteMs, ScheduleBench } from './schedule-bench.js';

describe('managing a schedule', () => {
  let bench: ScheduleBench;

  beforeEach(async () => {
    bench = await ScheduleBench.start();
  });

  afterEach(async () => {
    await bench.stop();
  });

  const submit = async (fields: object): Promise<unknown> => {
    const [result] = await bench.bench.core.admission.submit([encodeJob(checkJob({ task_id: 'task', node_group: 'g', ...fields }))], false);
    return result;
  };

  describe('submit', () => {
    it('answers a second one as a duplicate, and the same id with its first answer', async () => {
      const id = await bench.cron();
      expect(await submit({ cron_expression: '* * * * *' })).toMatchObject({ outcome: 'SUBMIT_OUTCOME_DUPLICATE_IGNORED', existing_instance_id: id });
      expect(await submit({})).toMatchObject({ outcome: 'SUBMIT_OUTCOME_DUPLICATE_IGNORED', existing_instance_id: id });
      expect(await submit({ instance_id: id, cron_expression: '* * * * *' })).toMatchObject({ outcome: 'SUBMIT_OUTCOME_ACCEPTED', instance_id: id });
      expect(await submit({ instance_id: id, cron_expression: '5 * * * *' })).toMatchObject({ reason: 'INSTANCE_ID_CONFLICT' });
    });

    it('replaces when told to, also while a run goes, and fires as the new one says', async () => {
      const id = await bench.cron();
      const first = await bench.got(1);
      const later = bench.now + 5 * minuteMs;
      expect(await submit({ replace_on_exist: true, repeat_interval: minuteMs, repeat_count: 1, trigger_time: later })).toMatchObject({ outcome: 'SUBMIT_OUTCOME_REPLACED', existing_instance_id: id });
      expect(await bench.row()).toMatchObject({ fires: 0, nextAt: later });
      await bench.finish(first);
      const second = await bench.instance(await bench.got(2));
      expect(second.scheduledAt).toBe(later);
      expect(await bench.row()).toBeUndefined();
    });

    it('refuses what will never fire, but knows a submission again for which it is too late by now', async () => {
      expect(await submit({ cron_expression: '* * * * *', end_time: bench.now - 1 })).toMatchObject({ reason: 'INVALID_ARGUMENT', message: expect.stringContaining('no time to come') });
      const once = { instance_id: bench.newId(), cron_expression: '* * * * *', end_time: bench.now + minuteMs };
      expect(await submit(once)).toMatchObject({ outcome: 'SUBMIT_OUTCOME_ACCEPTED' });
      await bench.finish(await bench.got(1));
      await bench.minutes(2);
      expect(await submit(once)).toMatchObject({ outcome: 'SUBMIT_OUTCOME_ACCEPTED', instance_id: once.instance_id });
      await bench.minutes(2);
      expect(bench.worker.got).toHaveLength(1);
    });
  });

  describe('suspend and resume', () => {
    it('stops and goes on, each once; times in between are passed over', async () => {
      await bench.cron();
      await bench.finish(await bench.got(1));
      expect(await bench.control.suspend(bench.name)).toMatchObject({ changed: true, schedule: { state: 'SUSPENDED', nextAt: undefined }, nextTimes: [] });
      expect(await bench.control.suspend(bench.name)).toMatchObject({ changed: false });
      await bench.minutes(3);
      expect(await bench.states()).toEqual(['SUCCEEDED']);
      const resumedAt = bench.now;
      const resumed = await bench.control.resume(bench.name);
      expect(resumed).toMatchObject({ changed: true, schedule: { state: 'ACTIVE', fires: 1 } });
      expect(resumed.nextTimes).toHaveLength(10);
      expect(await bench.control.resume(bench.name)).toMatchObject({ changed: false });
      const second = await bench.instance(await bench.got(2));
      expect(second.scheduledAt).toBeGreaterThanOrEqual(resumedAt);
      expect(await bench.states()).toEqual(['SUCCEEDED', 'EXECUTING']);
    });

    it('cancels what waits, while what runs goes on', async () => {
      await bench.cron({ blocking_policy: { strategy: 'SERIAL', limit: 5 } });
      const first = await bench.got(1);
      await bench.until(async () => (await bench.runs()).length === 3, 'two wait');
      await bench.control.suspend(bench.name);
      expect(await bench.states()).toEqual(['EXECUTING', 'CANCELLED', 'CANCELLED']);
      expect(await bench.finish(first)).toMatchObject({ state: 'SUCCEEDED' });
      await bench.minutes(2);
      expect(bench.worker.got).toEqual([first]);
    });

    it('lets a run that was going when it was resumed have its retries again, and never runs two at once', async () => {
      await bench.cron({ max_retry_times: 3, retry_policy: { delay: 1_000 } });
      const first = await bench.got(1);
      await bench.control.suspend(bench.name);
      await bench.control.resume(bench.name);
      await bench.until(async () => (await bench.runs()).length === 2, 'the next time comes');
      expect((await bench.runs())[1]).toMatchObject({ state: 'DISCARDED' });
      await bench.finish(first, 'LATER');
      expect(await bench.got(2)).toBe(first);
    });

    it('fires no time twice when the clock was set back meanwhile', async () => {
      await bench.cron();
      const first = await bench.finish(await bench.got(1));
      await bench.control.suspend(bench.name);
      bench.bench.clock.step(-10 * minuteMs);
      await bench.bench.ticks(3);
      expect((await bench.control.resume(bench.name)).schedule.nextAt).toBe(first.scheduledAt + minuteMs);
    });

    it('does not resume what would never fire', async () => {
      await bench.cron({ end_time: bench.now + 2 * minuteMs });
      await bench.control.suspend(bench.name);
      await bench.minutes(3);
      await expect(bench.control.resume(bench.name)).rejects.toMatchObject({ reason: 'NEVER_FIRES' });
      expect(await bench.row()).toMatchObject({ state: 'SUSPENDED' });
    });

    it('begins a fixed delay anew', async () => {
      await bench.repeat({ repeat_mode: 'FIXED_DELAY' });
      const first = await bench.got(1);
      await bench.control.suspend(bench.name);
      await bench.finish(first);
      await bench.minutes(2);
      expect(bench.worker.got).toEqual([first]);
      const at = bench.now;
      expect((await bench.control.resume(bench.name)).nextTimes).toEqual([at + minuteMs]);
      await bench.got(2);
    });
  });

  describe('delete and cancel', () => {
    it('lets what runs end with delete', async () => {
      await bench.cron({ blocking_policy: { strategy: 'SERIAL' } });
      const first = await bench.got(1);
      await bench.until(async () => (await bench.runs()).length === 2, 'one waits');
      const second = (await bench.runs())[1]?.id;
      expect(await bench.control.remove(bench.name)).toEqual({ running: [first], cancelled: [second], more: false });
      const { control, name } = bench;
      for (const again of [() => control.remove(name), () => control.suspend(name), () => control.resume(name), () => bench.trigger()]) {
        await expect(again()).rejects.toMatchObject({ reason: 'NOT_FOUND', message: expect.stringContaining('lts schedule get') });
      }
      expect(await bench.finish(first)).toMatchObject({ state: 'SUCCEEDED' });
      await bench.minutes(2);
      expect(bench.worker.got).toEqual([first]);
    });

    it('shows what was deleted or cancelled, with its last fire, until it is forgotten', async () => {
      await expect(bench.control.get(bench.name)).rejects.toMatchObject({ reason: 'NOT_FOUND', message: expect.stringMatching(/no schedule task; .* ended longer ago than the retention of \d+\w$/) });
      const id = await bench.cron({ payload: Buffer.from('hi') });
      const first = await bench.got(1);
      await bench.control.remove(bench.name);
      const { scheduledAt } = await bench.instance(first);
      const deleted = { schedule_id: id, state: 'SCHEDULE_STATE_DELETED', ended_at: bench.now, last_fire_time: scheduledAt };
      expect(await bench.shown()).toMatchObject({ ...deleted, job: { cron_expression: '* * * * *', payload: Buffer.from('hi') } });
      const second = await bench.cron();
      expect(await bench.shown()).toMatchObject({ schedule_id: second, state: 'SCHEDULE_STATE_ACTIVE' });
      await bench.bench.core.cancellation.cancel({ node_group: 'g', task_id: 'task', instance_id: '' });
      expect(await bench.shown()).toMatchObject({ schedule_id: second, state: 'SCHEDULE_STATE_DELETED', ended_at: bench.now, last_fire_time: scheduledAt });
    });

    it('shows what is over', async () => {
      const id = await bench.repeat({ repeat_count: 2 });
      await bench.finish(await bench.got(1));
      const last = await bench.instance(await bench.got(2));
      expect(await bench.row()).toBeUndefined();
      expect(await bench.shown()).toMatchObject({ schedule_id: id, state: 'SCHEDULE_STATE_OVER', ended_at: last.createdAt, last_fire_time: last.scheduledAt });
      await expect(bench.control.get(bench.name, true)).rejects.toMatchObject({ reason: 'NOT_FOUND' });
    });

    it('stops what runs with cancel', async () => {
      const id = await bench.cron();
      const first = await bench.got(1);
      const answer = await bench.bench.core.cancellation.cancel({ node_group: 'g', task_id: 'task', instance_id: '' });
      expect(answer).toEqual({ outcome: 'CANCEL_OUTCOME_CANCELLING', instance_ids: expect.arrayContaining([first, id]), instance_count: expect.any(Number) });
      expect(await bench.finish(first, 'CANCELLED')).toMatchObject({ state: 'CANCELLED' });
      await bench.minutes(2);
      expect(bench.worker.got).toEqual([first]);
    });

    it('names the first thousand of very many runs, tells that there are more, and ends them all', async () => {
      await bench.cron({ cron_expression: '0 0 1 1 *', rely_on_prev_cycle: false });
      await Promise.all(Array.from({ length: 1_100 }, () => bench.trigger()));
      const answer = await bench.bench.core.cancellation.cancel({ node_group: 'g', task_id: 'task', instance_id: '' });
      expect(answer.instance_ids).toHaveLength(1_000);
      // What was looked at before the answer, and the schedule.
      expect(answer).toMatchObject({ instance_count: 1_001, more: true });
      const { groups } = bench.bench.core;
      await bench.until(() => groups.group('g', 0).readyCount === 0 && !groups.hasHalted('g'), 'all have ended');
      const { rows } = await bench.bench.store.listInstances({ nodeGroup: 'g', taskId: 'task', states: ['CANCELLED', 'CANCELLING'], before: undefined, limit: 2_000 });
      expect(rows).toHaveLength(1_100);
    });

    it('cancels a schedule that has no run, also a suspended one', async () => {
      const id = await bench.cron({ cron_expression: '0 0 1 1 *' });
      await bench.control.suspend(bench.name);
      expect(await bench.bench.core.cancellation.cancel({ node_group: 'g', task_id: 'task', instance_id: '' })).toEqual({ outcome: 'CANCEL_OUTCOME_CANCELLED', instance_ids: [id], instance_count: 1 });
      await expect(bench.bench.core.cancellation.cancel({ node_group: 'g', task_id: 'task', instance_id: '' })).rejects.toMatchObject({ reason: 'INSTANCE_NOT_FOUND' });
    });

    it('cancels one run alone, and the schedule goes on', async () => {
      await bench.cron({ blocking_policy: { strategy: 'SERIAL' } });
      const first = await bench.got(1);
      await bench.until(async () => (await bench.runs()).length === 2, 'one waits');
      const held = (await bench.runs())[1]?.id ?? '';
      await bench.bench.core.cancellation.cancel({ node_group: 'g', task_id: '', instance_id: held });
      await bench.finish(first);
      const next = await bench.got(2);
      expect(next).not.toBe(held);
      expect(await bench.instance(held)).toMatchObject({ state: 'CANCELLED' });
    });

    it('is searched for only when no other search goes on', async () => {
      const { store } = bench.bench;
      const begun: (() => void)[] = [];
      store.findPastSchedule = () => new Promise((resolve) => begun.push(() => resolve(undefined)));
      const answers = ['one', 'two'].map((taskId) => bench.control.get({ nodeGroup: 'g', taskId }).catch((error: unknown) => error));
      await bench.until(() => begun.length > 0, 'the first one begins');
      await bench.bench.ticks(2);
      expect(begun).toHaveLength(1);
      begun[0]?.();
      await bench.until(() => begun.length > 1, 'the second one begins');
      begun[1]?.();
      expect(await Promise.all(answers)).toMatchObject([{ reason: 'NOT_FOUND' }, { reason: 'NOT_FOUND' }]);
    });

    it('takes a new schedule of the same task after it', async () => {
      await bench.cron();
      const first = await bench.got(1);
      await bench.control.remove(bench.name);
      await bench.repeat({ trigger_time: bench.now + 10_000 });
      // Still never two at once.
      await bench.until(async () => (await bench.runs()).length === 2, 'its first time comes');
      expect((await bench.runs())[1]).toMatchObject({ state: 'DISCARDED' });
      await bench.finish(first);
      await bench.got(2);
    });
  });

  describe('trigger', () => {
    it('refuses a time that is still to come, and takes the present one', async () => {
      await bench.cron();
      await expect(bench.trigger({ scheduledTime: bench.now + 1_000 })).rejects.toMatchObject({ reason: 'INVALID_ARGUMENT', message: expect.stringContaining('still to come') });
      await expect(bench.trigger({ scheduledTime: Number.MAX_SAFE_INTEGER })).rejects.toMatchObject({ reason: 'INVALID_ARGUMENT' });
      expect(await bench.trigger({ scheduledTime: bench.now })).toMatchObject({ waits: false });
    });

    it('runs at once, with other parameters and for another time, and moves nothing', async () => {
      await bench.cron({ cron_expression: '0 0 1 1 *', ext_params: { a: '1', b: '2' }, payload: Buffer.from('own') });
      const before = await bench.row();
      const { instanceId, waits } = await bench.trigger({ extParams: { a: '3' }, payload: Buffer.from('other'), scheduledTime: 5_000 });
      expect(waits).toBe(false);
      expect(await bench.got(1)).toBe(instanceId);
      const run = await bench.finish(instanceId);
      expect(run).toMatchObject({ state: 'SUCCEEDED', scheduledAt: 5_000, taskId: 'task' });
      const job = decodeJob(run.job ?? Buffer.alloc(0));
      expect([job.ext_params, job.payload.toString(), job.task_id]).toEqual([{ a: '3' }, 'other', 'task']);
      expect(await bench.row()).toEqual(before);
    });

    it('waits for the run that still goes', async () => {
      await bench.cron();
      const first = await bench.got(1);
      const { instanceId, waits } = await bench.trigger();
      expect(waits).toBe(true);
      await bench.bench.ticks(3);
      expect(bench.worker.got).toEqual([first]);
      await bench.finish(first);
      expect(await bench.got(2)).toBe(instanceId);
    });

    it('does not wait where runs overlap', async () => {
      await bench.cron({ rely_on_prev_cycle: false });
      await bench.got(1);
      expect(await bench.trigger()).toMatchObject({ waits: false });
      await bench.got(2);
    });

    it('runs once, however often it is called with the same id', async () => {
      await bench.cron({ cron_expression: '0 0 1 1 *' });
      const instanceId = bench.newId();
      expect(await bench.trigger({ instanceId })).toEqual({ instanceId, waits: false });
      await bench.got(1);
      expect(await bench.trigger({ instanceId })).toEqual({ instanceId, waits: false });
      const other = await bench.bench.submit();
      await expect(bench.trigger({ instanceId: other })).rejects.toMatchObject({ reason: 'INSTANCE_ID_CONFLICT' });
      await bench.bench.ticks(3);
      expect(await bench.states()).toEqual(['EXECUTING']);
    });

    it('runs a suspended schedule, and has its retries', async () => {
      await bench.cron({ max_retry_times: 1, retry_policy: { delay: 1_000 } });
      await bench.control.suspend(bench.name);
      const { instanceId } = await bench.trigger();
      await bench.got(1);
      await bench.finish(instanceId, 'LATER');
      expect(await bench.got(2)).toBe(instanceId);
      expect(await bench.finish(instanceId)).toMatchObject({ state: 'SUCCEEDED' });
      expect(await bench.row()).toMatchObject({ state: 'SUSPENDED', fires: 0 });
    });

    it('is refused where there is no schedule', async () => {
      await expect(bench.trigger()).rejects.toMatchObject({ reason: 'NOT_FOUND' });
      await bench.bench.submit({ task_id: 'task', trigger_time: bench.now + minuteMs });
      await expect(bench.trigger()).rejects.toMatchObject({ reason: 'NOT_FOUND' });
    });
  });
});
