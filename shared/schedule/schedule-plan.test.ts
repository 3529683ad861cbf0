import { describe, expect, it } from 'vitest';
import { LtsError } from '../errors/lts-error.js';
import { decodeJob, encodeJob } from '../grpc/job-codec.js';
import { checkDecodedJob, checkJob } from '../job/check-job.js';
import { planFromText, planOf, planToText, timetableOf } from './schedule-plan.js';

const now = Date.UTC(2030, 0, 1);
const least = { task_id: 't', node_group: 'g' };
const cron = { ...least, cron_expression: '0 12 * * *' };
const repeat = { ...least, repeat_interval: 60_000, repeat_count: 5 };
const window = { ...least, repeat_interval: 60_000, daily_window: { from: '09:00', to: '17:30' } };

function errorOf(work: () => unknown): LtsError {
  try {
    work();
  } catch (error) {
    if (error instanceof LtsError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const refused: [name: string, job: object, ...words: string[]][] = [
  ['cron and interval', { ...cron, repeat_interval: 5 }, 'cron_expression', 'repeat_interval 5'],
  ['cron and count', { ...cron, repeat_count: 5 }, 'repeat_count 5', 'end_time'],
  ['cron and window', { ...cron, daily_window: { from: '09:00', to: '10:00' } }, 'daily_window'],
  ['cron and repeat mode', { ...cron, repeat_mode: 'FIXED_DELAY' }, 'repeat_mode'],
  ['a count alone', { ...least, repeat_count: 3 }, 'repeat_count is 3', 'interval'],
  ['an interval alone', { ...least, repeat_interval: 3 }, 'repeat_interval is 3', '-1'],
  ['a repeat that fires too often', { ...repeat, repeat_interval: 99 }, 'repeat_interval is 99', '100 milliseconds or more'],
  ['a window without interval', { ...least, daily_window: { from: '09:00', to: '10:00' } }, 'daily_window', 'repeat_interval'],
  ['a window that fires too often', { ...window, repeat_interval: 999 }, 'repeat_interval is 999', '1000'],
  ['a window with a fixed delay', { ...window, repeat_mode: 'FIXED_DELAY' }, 'FIXED_DELAY', 'daily_window'],
  ['a window without its end', { ...window, daily_window: { from: '09:00' } }, 'daily_window.to'],
  ['a fixed delay of runs that overlap', { ...repeat, repeat_mode: 'FIXED_DELAY', rely_on_prev_cycle: false }, 'FIXED_DELAY', 'rely_on_prev_cycle'],
  ['overlapping runs that rely on the one before', { ...cron, blocking_policy: { strategy: 'CONCURRENT' } }, 'CONCURRENT', 'rely_on_prev_cycle'],
  ['a queue of runs that overlap', { ...cron, rely_on_prev_cycle: false, blocking_policy: { strategy: 'SERIAL' } }, 'SERIAL', 'rely_on_prev_cycle'],
  ['the newest of those that do not all run', { ...cron, misfire_policy: { newest: 5 } }, 'newest is 5', 'FIRE_ONCE', 'FIRE_ALL'],
  ['a window of those that do not run', { ...cron, misfire_policy: { action: 'SKIP', window: 1_000 } }, 'window is 1000', 'SKIP', 'FIRE_ALL'],
  ['a limit that means nothing', { ...cron, blocking_policy: { strategy: 'COVER_EARLY', limit: 2 } }, 'limit is 2', 'COVER_EARLY'],
  ['an end before the start', { ...cron, start_time: 2_000, end_time: 1_000 }, 'end_time is 1000', 'start_time 2000'],
  ['a day that never comes', { ...least, cron_expression: '0 0 0 30 2 ?', cron_dialect: 'QUARTZ' }, 'never fires'],
  ['bounds that leave nothing', { ...cron, start_time: now + 13 * 3_600_000, end_time: now + 14 * 3_600_000 }, 'never fires', 'end_time'],
  ['a repeat that ends before it begins', { ...repeat, trigger_time: 2_000, end_time: 1_000 }, 'after end_time 1000'],
  ['options of a cron without one', { ...repeat, dst_gap: 'SKIP' }, 'dst_gap', 'cron_expression'],
  ['a zone of a repeat', { ...repeat, time_zone: 'Europe/Berlin' }, 'time_zone', 'Europe/Berlin'],
  ['a policy of a job that is no schedule', { ...least, misfire_policy: { action: 'SKIP' } }, 'misfire_policy', 'no schedule'],
  ['an end of a job that is no schedule', { ...least, end_time: 5 }, 'end_time', 'no schedule'],
  ['a start of a job that is no schedule', { ...least, start_time: 5 }, 'start_time', 'no schedule'],
  ['a zone of a job that is no schedule', { ...least, time_zone: 'Europe/Berlin' }, 'time_zone', 'no schedule'],
  ['a repeat mode of a job that is no schedule', { ...least, repeat_mode: 'FIXED_RATE' }, 'repeat_mode', 'no schedule'],
  ['a policy for runs still going of a job that is no schedule', { ...least, blocking_policy: { strategy: 'SERIAL' } }, 'blocking_policy', 'no schedule'],
  ['overlapping runs of a job that is no schedule', { ...least, rely_on_prev_cycle: false }, 'rely_on_prev_cycle is false', 'no schedule', 'leave it out'],
  ['a dialect of a job that is no schedule', { ...least, cron_dialect: 'QUARTZ' }, 'cron_dialect', 'cron_expression'],
];

describe('planOf', () => {
  it.each(refused)('refuses %s', (_name, job, ...words) => {
    const error = errorOf(() => checkJob(job));
    expect(error.reason).toBe('INVALID_ARGUMENT');
    for (const word of words) expect(error.message).toContain(word);
  });

  it('refuses a cron expression and a zone that cannot be at the edge', () => {
    expect(errorOf(() => checkJob({ ...least, cron_expression: '61 * * * *' })).reason).toBe('CRON_INVALID');
    expect(errorOf(() => checkJob({ ...cron, time_zone: 'Europe/Nowhere' })).reason).toBe('INVALID_ARGUMENT');
  });

  it('takes a one-shot for none', () => {
    expect(planOf(checkJob(least), now)).toBeUndefined();
    const filledIn = { ...least, rely_on_prev_cycle: true, repeat_interval: 0, repeat_count: 0, cron_expression: '', time_zone: '', start_time: 0, end_time: 0 };
    expect(planOf(checkJob(filledIn), now)).toBeUndefined();
    checkDecodedJob(decodeJob(encodeJob(checkJob(filledIn))));
    checkDecodedJob(decodeJob(encodeJob(checkJob(least))));
  });

  it('comes back from its text as it was, and fires as it says', () => {
    for (const job of [cron, repeat, window]) {
      const plan = planOf(checkJob(job), now);
      if (plan === undefined) throw new Error('no plan');
      expect(planFromText(planToText(plan))).toEqual(plan);
    }
    const times = (job: object): (number | undefined)[] => {
      const plan = planOf(checkJob(job), now);
      if (plan === undefined) throw new Error('no plan');
      const timetable = timetableOf(plan, 'g/t');
      const first = timetable.next(now);
      return [first, first === undefined ? undefined : timetable.next(first + 1)];
    };
    expect(times(cron)).toEqual([now + 12 * 3_600_000, now + 36 * 3_600_000]);
    expect(times(repeat)).toEqual([now, now + 60_000]);
    expect(times({ ...repeat, trigger_time: now + 5 })).toEqual([now + 5, now + 60_005]);
    expect(times({ ...repeat, trigger_time: now - 90_000 })).toEqual([now + 30_000, now + 90_000]);
    expect(times({ ...repeat, start_time: now - 60_000 })).toEqual([now, now + 60_000]);
    expect(times({ ...repeat, trigger_time: now - 90_000, start_time: now + 40_000 })).toEqual([now + 90_000, now + 150_000]);
    expect(times({ ...repeat, trigger_time: now - 90_000, repeat_mode: 'REPEAT_MODE_FIXED_DELAY' })[0]).toBe(now);
    expect(times({ ...window, trigger_time: now - 90_000 })[0]).toBe(now + 9 * 3_600_000);
    expect(times({ ...repeat, start_time: now + 7 })).toEqual([now + 7, now + 60_007]);
    expect(times({ ...repeat, end_time: now + 59_999 })).toEqual([now, undefined]);
    expect(times(window)).toEqual([now + 9 * 3_600_000, now + 9 * 3_600_000 + 60_000]);
  });

  it('limits runs as rely_on_prev_cycle and the policy say', () => {
    const blocking = (fields: object): unknown => planOf(checkJob({ ...cron, ...fields }), now)?.blocking;
    expect(blocking({})).toEqual({ strategy: 'DISCARD_LATER', limit: 1, queue: 0 });
    expect(blocking({ rely_on_prev_cycle: false })).toEqual({ strategy: 'CONCURRENT', limit: 0, queue: 0 });
    expect(blocking({ rely_on_prev_cycle: false, blocking_policy: { limit: 3 } })).toEqual({ strategy: 'CONCURRENT', limit: 3, queue: 0 });
    expect(blocking({ blocking_policy: { strategy: 'SERIAL' } })).toEqual({ strategy: 'SERIAL', limit: 1, queue: 1 });
  });
});
