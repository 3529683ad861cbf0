import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toInstance } from '../../services/job-tracker/rpc/status-views.js';
import { minuteMs, ScheduleBench } from './schedule-bench.js';

describe('a schedule on a whole tracker', () => {
  let bench: ScheduleBench;

  beforeEach(async () => {
    bench = await ScheduleBench.start();
  });

  afterEach(async () => {
    await bench.stop();
  });

  /** The next run comes while the first one goes. */
  async function secondTime(): Promise<string> {
    const first = await bench.got(1);
    await bench.until(async () => (await bench.runs()).length > 1, 'the second time comes');
    return first;
  }

  describe('that finds its last run still going', () => {
    it('discards the new time, and names the run, unless told otherwise', async () => {
      await bench.cron();
      const first = await secondTime();
      const [, second] = await bench.runs();
      expect(second).toMatchObject({ state: 'DISCARDED', message: `run ${first} still goes`, attempts: 0 });
      await bench.finish(first);
      await bench.got(2);
      expect(await bench.row()).toMatchObject({ fires: 2 });
    });

    it('lets a run that only waits for its retry give way', async () => {
      await bench.cron({ max_retry_times: 5, retry_policy: { delay: 10 * minuteMs } });
      const first = await bench.got(1);
      await bench.finish(first, 'LATER');
      const second = await bench.got(2);
      expect(second).not.toBe(first);
      expect(await bench.instance(first)).toMatchObject({ state: 'FAILED', message: `its retry gave way to run ${second} of ${new Date((await bench.instance(second)).scheduledAt).toISOString()}` });
    });

    it('queues the new time with SERIAL, and discards what the queue does not hold', async () => {
      await bench.cron({ blocking_policy: { strategy: 'SERIAL', limit: 2 } });
      const first = await bench.got(1);
      await bench.until(async () => (await bench.runs()).length === 4, 'four times have come');
      const [, second, third, fourth] = await bench.runs();
      expect([second?.state, third?.state]).toEqual(['WAITING', 'WAITING']);
      expect(fourth).toMatchObject({ state: 'DISCARDED', message: `the queue is full: 2 of 2 wait behind run ${first}` });
      expect(bench.worker.got).toEqual([first]);
      await bench.finish(first);
      expect(await bench.got(2)).toBe(second?.id);
      expect(await bench.finish(second?.id ?? '')).toMatchObject({ state: 'SUCCEEDED', scheduledAt: second?.scheduledAt });
      expect(await bench.got(3)).toBe(third?.id);
    });

    it('cancels it with COVER_EARLY, and begins only when it has ended', async () => {
      await bench.cron({ blocking_policy: { strategy: 'COVER_EARLY' } });
      const first = await secondTime();
      const { id: second = '', scheduledAt: secondAt = 0 } = (await bench.runs())[1] ?? {};
      await bench.until(async () => (await bench.instance(first)).state === 'CANCELLING', 'it is asked to stop');
      expect(bench.worker.got).toEqual([first]);
      // The worker takes its time: the one that waits is covered as well.
      await bench.until(async () => (await bench.runs()).length === 3, 'the third time comes');
      const { id: third = '', scheduledAt: thirdAt = 0 } = (await bench.runs())[2] ?? {};
      await bench.until(async () => (await bench.instance(second)).state === 'DISCARDED', 'it is covered');
      expect((await bench.instance(second)).message).toBe(`covered by run ${third} of ${new Date(thirdAt).toISOString()}`);
      const reason = `covered by run ${second} of ${new Date(secondAt).toISOString()}`;
      expect(toInstance(await bench.instance(first), bench.bench.core.groups).message).toBe(reason);
      expect(await bench.finish(first, 'CANCELLED')).toMatchObject({ state: 'CANCELLED', message: reason });
      expect(await bench.got(2)).toBe(third);
    });

    it('covers one that only waits for its retry, and says by which', async () => {
      await bench.cron({ blocking_policy: { strategy: 'COVER_EARLY' }, max_retry_times: 5, retry_policy: { delay: 10 * minuteMs } });
      const first = await bench.got(1);
      await bench.finish(first, 'LATER');
      const second = await bench.got(2);
      const { scheduledAt } = await bench.instance(second);
      expect(await bench.instance(first)).toMatchObject({ state: 'CANCELLED', message: `covered by run ${second} of ${new Date(scheduledAt).toISOString()}` });
    });

    it('runs side by side with CONCURRENT, up to its limit', async () => {
      await bench.cron({ rely_on_prev_cycle: false, blocking_policy: { strategy: 'CONCURRENT', limit: 2 } });
      const first = await bench.got(1);
      await bench.got(2);
      await bench.until(async () => (await bench.runs()).length === 3, 'the third time comes');
      expect((await bench.runs())[2]).toMatchObject({ state: 'DISCARDED', message: '2 runs still go, the limit is 2' });
      await bench.finish(first);
      await bench.got(3);
    });

    it('runs side by side without a limit when no run relies on the one before', async () => {
      await bench.cron({ rely_on_prev_cycle: false });
      await bench.got(5);
      expect(await bench.states()).toEqual(['EXECUTING', 'EXECUTING', 'EXECUTING', 'EXECUTING', 'EXECUTING']);
    });
  });

  describe('whose times were missed', () => {
    /** Nobody fires for ten minutes after the first run. */
    async function rest(fields: object): Promise<void> {
      await bench.cron(fields);
      await bench.finish(await bench.got(1));
      bench.bench.clock.stand(10 * minuteMs);
      await bench.until(async () => (await bench.runs()).length >= 10, 'all times are answered');
    }

    it('runs the newest one of them', async () => {
      await rest({});
      const runs = (await bench.runs()).slice(1);
      const missed = runs.filter(({ state }) => state === 'MISSED');
      expect(missed.length).toBeGreaterThanOrEqual(8);
      expect(missed[0]).toMatchObject({ message: 'missed: its schedule was late by more than 60000 ms', attempts: 0 });
      const ran = runs.findIndex(({ state }) => state !== 'MISSED');
      expect(ran).toBe(missed.length);
      const times = runs.map(({ scheduledAt }) => scheduledAt);
      expect(times).toEqual(times.map((_time, index) => (times[0] ?? 0) + index * minuteMs));
    });

    it('runs none of them with SKIP', async () => {
      await rest({ misfire_policy: { action: 'SKIP' }, rely_on_prev_cycle: false });
      expect(await bench.row()).toMatchObject({ state: 'ACTIVE' });
      const ran = (await bench.runs()).filter(({ state }) => state !== 'MISSED');
      // The first one, and the one whose time came within the threshold.
      expect(ran.length).toBeLessThanOrEqual(3);
    });

    it('runs the newest n with FIRE_ALL, one after the other', async () => {
      await rest({ misfire_policy: { action: 'FIRE_ALL', newest: 3 } });
      const held = (await bench.runs()).filter(({ state }) => state === 'WAITING' || state === 'EXECUTING');
      expect(held.length).toBeGreaterThanOrEqual(3);
      for (let run = 0; run < 3; run++) {
        const id = await bench.got(2 + run);
        expect(bench.worker.has.size).toBe(1);
        expect(id).toBe(held[run]?.id);
        await bench.finish(id);
      }
    });

    it('counts those that run alone against repeat_count', async () => {
      await bench.repeat({ repeat_count: 3, rely_on_prev_cycle: false });
      await bench.finish(await bench.got(1));
      bench.bench.clock.stand(10 * minuteMs);
      await bench.got(3);
      await bench.until(async () => (await bench.row()) === undefined, 'it is over');
      const states = await bench.states();
      expect(states.filter((state) => state !== 'MISSED')).toHaveLength(3);
    });
  });

  it('discards times of overlapping runs while the backlog of the group is full', async () => {
    await bench.bench.core.limits.set('g', { backlog: 2 });
    await bench.repeat({ rely_on_prev_cycle: false });
    await bench.until(async () => (await bench.states()).filter((state) => state === 'DISCARDED').length >= 2, 'times are discarded', 900);
    const runs = await bench.runs();
    // The slots of the worker, the backlog, and then none.
    expect(runs.slice(0, 12).map(({ state }) => state)).toEqual([...Array.from({ length: 8 }, () => 'EXECUTING'), 'READY', 'READY', 'DISCARDED', 'DISCARDED']);
    expect(runs[10]?.message).toBe('the backlog of group g is full: 2 jobs wait, the limit is 2');
    const instanceId = runs[9]?.id ?? '';
    await expect(bench.trigger()).rejects.toMatchObject({ reason: 'BACKLOG_FULL' });
    expect(await bench.trigger({ instanceId })).toMatchObject({ instanceId });
    await bench.finish(bench.worker.got[0] ?? '');
    await bench.got(9);
    await bench.until(async () => (await bench.runs()).slice(12).some(({ state }) => state === 'READY'), 'a time runs again');
  });

  describe('with a fixed delay', () => {
    it('fires its interval after the end of the run', async () => {
      await bench.repeat({ repeat_mode: 'FIXED_DELAY', repeat_count: 3 });
      const first = await bench.got(1);
      await bench.minutes(3);
      expect(await bench.row()).toMatchObject({ fires: 1, nextAt: undefined });
      expect(await bench.states()).toEqual(['EXECUTING']);
      const { endedAt } = await bench.finish(first);
      const second = await bench.instance(await bench.got(2));
      expect(second.scheduledAt).toBeGreaterThanOrEqual(endedAt + minuteMs);
      expect(second.scheduledAt).toBeLessThan(endedAt + minuteMs + 2_000);
      await bench.finish(second.id);
      await bench.finish(await bench.got(3));
      expect(await bench.row()).toBeUndefined();
      await bench.minutes(3);
      expect(bench.worker.got).toHaveLength(3);
    });

    it('counts from the end of the last retry', async () => {
      await bench.repeat({ repeat_mode: 'FIXED_DELAY', max_retry_times: 1, retry_policy: { delay: 3 * minuteMs } });
      const first = await bench.got(1);
      await bench.finish(first, 'LATER');
      expect(await bench.got(2)).toBe(first);
      const { endedAt } = await bench.finish(first);
      expect((await bench.instance(await bench.got(3))).scheduledAt).toBeGreaterThanOrEqual(endedAt + minuteMs);
      expect(await bench.row()).toMatchObject({ fires: 2 });
    });
  });
});
