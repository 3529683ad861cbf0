import { describe, expect, it } from 'vitest';
import { checkJob } from '../../../shared/job/check-job.js';
import { planOf, timetableOf } from '../../../shared/schedule/schedule-plan.js';
import type { LiveRun } from './blocking.js';
import { decideFire, type FireDecision } from './decide-fire.js';

const minute = 60_000;
const start = Math.floor(1_800_000_000_000 / minute) * minute;

/** What a schedule of every minute does whose next time is `start`. */
function fire(options: { job?: object; live?: LiveRun[]; late?: number; fires?: number; lastAt?: number; room?: number }): FireDecision {
  const plan = planOf(checkJob({ task_id: 't', node_group: 'g', ...(options.job ?? { cron_expression: '* * * * *' }) }), start);
  if (plan === undefined) throw new Error('no plan');
  let ids = 0;
  return decideFire({ row: { taskId: 't', fires: options.fires ?? 0, lastAt: options.lastAt, nextAt: start }, plan, timetable: timetableOf(plan, ''), live: options.live ?? [], backlog: { room: options.room ?? 1_000, full: 'the backlog is full' } }, start + (options.late ?? 0), () => `new-${++ids}`);
}

const cron = (fields: object): object => ({ cron_expression: '* * * * *', ...fields });
const repeat = (fields: object): object => ({ repeat_interval: minute, repeat_count: 3, ...fields });
const short = ({ runs, passed }: FireDecision): unknown[] => [runs.map(({ scheduledAt, held }) => [(scheduledAt - start) / minute, held ? 'held' : 'runs']), passed.map(({ scheduledAt, state }) => [(scheduledAt - start) / minute, state])];

const missed = (from: number, end: number): unknown[] => Array.from({ length: end - from }, (_, index) => [from + index, 'MISSED']);

describe('decideFire', () => {
  it('runs the one time that has come, and moves on from it, not from now', () => {
    const decision = fire({ late: 1_234 });
    expect(decision).toMatchObject({ runs: [{ id: 'new-1', taskKey: `#t#${start}`, scheduledAt: start, held: false, counts: true }], passed: [], nextAt: start + minute, over: false, giveWay: [] });
    expect(fire({ job: cron({ rely_on_prev_cycle: false }) }).runs[0]?.taskKey).toBe(`$t#${start}`);
  });

  it('runs no time again that has run, as after a replace in its millisecond or with the clock set back', () => {
    expect(fire({ lastAt: start })).toMatchObject({ runs: [], passed: [], nextAt: start + minute, over: false });
    expect(fire({ lastAt: start + 5 * minute })).toMatchObject({ runs: [], nextAt: start + 6 * minute });
    expect(fire({ lastAt: start - minute }).runs).toHaveLength(1);
  });

  it('is over with the last time, or the last run', () => {
    expect(fire({ job: cron({ end_time: start + minute - 1 }) })).toMatchObject({ runs: [{}], nextAt: undefined, over: true });
    expect(fire({ job: repeat({}), fires: 1 })).toMatchObject({ nextAt: start + minute, over: false });
    expect(fire({ job: repeat({}), fires: 2 })).toMatchObject({ runs: [{}], nextAt: undefined, over: true });
  });

  it('rests after a fire with a fixed delay, and is over when the next one would come too late', () => {
    const delay = { repeat_mode: 'FIXED_DELAY' };
    expect(fire({ job: repeat(delay) })).toMatchObject({ runs: [{}], nextAt: undefined, over: false });
    expect(fire({ job: repeat(delay), fires: 2 })).toMatchObject({ runs: [{}], over: true });
    expect(fire({ job: repeat({ ...delay, end_time: start + minute - 1 }) })).toMatchObject({ runs: [{}], over: true });
    expect(fire({ job: repeat(delay), late: 2 * minute, live: [{ id: 'a', taskKey: '#t#1', stands: 'active', begun: true }] })).toMatchObject({ runs: [], passed: [{ state: 'DISCARDED' }], over: false });
  });

  it.each([
    ['FIRE_ONCE', { misfire_policy: { action: 'FIRE_ONCE' } }, [[[5, 'runs']], missed(0, 5)]],
    ['SKIP', { misfire_policy: { action: 'SKIP' } }, [[], missed(0, 6)]],
    ['FIRE_ALL', { misfire_policy: { action: 'FIRE_ALL' } }, [[[0, 'runs'], [1, 'held'], [2, 'held'], [3, 'held'], [4, 'held'], [5, 'held']], []]],
    ['FIRE_ALL of the newest two', { misfire_policy: { action: 'FIRE_ALL', newest: 2 } }, [[[4, 'runs'], [5, 'held']], missed(0, 4)]],
    ['FIRE_ALL within a window', { misfire_policy: { action: 'FIRE_ALL', window: 2 * minute } }, [[[3, 'runs'], [4, 'held'], [5, 'held']], missed(0, 3)]],
    ['overlapping runs', { rely_on_prev_cycle: false }, [[[5, 'runs']], missed(0, 5)]],
    ['COVER_EARLY', { blocking_policy: { strategy: 'COVER_EARLY' } }, [[[5, 'runs']], missed(0, 5)]],
    ['SERIAL', { blocking_policy: { strategy: 'SERIAL' } }, [[[5, 'runs']], missed(0, 5)]],
    // The stored time is late by just the threshold: none is missed.
    ['a higher threshold', { misfire_policy: { threshold: 5 * minute } }, [[[0, 'runs']], [1, 2, 3, 4, 5].map((time) => [time, 'DISCARDED'])]],
    ['the newest covering all others on time', { misfire_policy: { threshold: 5 * minute }, blocking_policy: { strategy: 'COVER_EARLY' } }, [[[5, 'runs']], [0, 1, 2, 3, 4].map((time) => [time, 'DISCARDED'])]],
    ['a queue of those on time', { misfire_policy: { threshold: 5 * minute }, blocking_policy: { strategy: 'SERIAL' } }, [[[0, 'runs'], [1, 'held']], [2, 3, 4, 5].map((time) => [time, 'DISCARDED'])]],
  ])('treats missed times as they are to be treated: %s', (_name, fields, expected) => {
    const times = fire({ job: cron(fields), late: 5 * minute });
    expect(short(times)).toEqual(expected);
    expect(times.nextAt).toBe(start + 6 * minute);
  });

  it('counts runs alone, and is over in the middle of what has come', () => {
    const decision = fire({ job: repeat({ rely_on_prev_cycle: false, misfire_policy: { action: 'FIRE_ALL' } }), late: 30 * minute });
    expect(short(decision)).toEqual([[[0, 'runs'], [1, 'runs'], [2, 'runs']], []]);
    expect(decision).toMatchObject({ nextAt: undefined, over: true });
  });

  it('answers all missed times at once, and tells how many there were', () => {
    const decision = fire({ late: 500 * minute, job: cron({ misfire_policy: { action: 'FIRE_ALL', newest: 150 } }) });
    expect(decision.passed).toHaveLength(351);
    expect(decision.runs).toHaveLength(150);
    expect(decision.nextAt).toBe(start + 501 * minute);
    expect(decision.missed).toEqual({ count: 351, from: start, to: start + 350 * minute });
    expect(fire({ late: minute }).missed).toBeUndefined();
  });

  it('answers a hundred times that are on time at once, and leaves the others due', () => {
    const decision = fire({ late: 500 * minute, job: cron({ misfire_policy: { threshold: 500 * minute } }) });
    expect(decision.passed).toHaveLength(99);
    expect(decision.nextAt).toBe(start + 100 * minute);
  });

  it('runs the newest of a job of every five seconds after 84 s away, and none of those before it', () => {
    const decision = fire({ job: { cron_expression: '*/5 * * * * ?' }, late: 84_000 });
    expect(decision.runs.map(({ scheduledAt }) => scheduledAt - start)).toEqual([80_000]);
    expect(decision.passed.map(({ state }) => state)).toEqual(Array.from({ length: 16 }, () => 'MISSED'));
  });

  it('sums up what is too old to be told one by one', () => {
    const decision = fire({ job: { cron_expression: '* * * * * ?' }, late: 40 * minute });
    expect(decision.passed[0]).toMatchObject({ state: 'MISSED', message: expect.stringMatching(/and 1400 earlier times from 20/) });
    expect(decision.passed).toHaveLength(1_000);
    expect(decision.missed).toEqual({ count: 2_400, from: start, to: start + 40 * minute - 1_000 });
    const week = fire({ job: cron({ cron_expression: '* * * * *', misfire_policy: { action: 'SKIP' } }), late: 7 * 86_400_000 });
    expect(week.passed).toHaveLength(1_001);
    expect(week.passed[0]).toMatchObject({ message: expect.stringContaining('and 9080 earlier times') });
  });

  it('counts up to ten thousand that are summed up, and says so', () => {
    const summed = (times: number): string | undefined => fire({ job: { cron_expression: '* * * * * ?' }, late: (times + 999) * 1_000 }).passed[0]?.message;
    expect(summed(9_999)).toContain('; and 9998 earlier times');
    expect(summed(10_000)).toContain('; and at least 9999 earlier times');
    expect(summed(20_000)).toContain('; and at least 9999 earlier times');
  });

  it('discards times without a limit of their runs while the backlog is full, and counts none of them', () => {
    const job = repeat({ rely_on_prev_cycle: false });
    expect(fire({ job, fires: 2, room: 0 })).toMatchObject({ runs: [], passed: [{ state: 'DISCARDED', message: 'the backlog is full', scheduledAt: start }], nextAt: start + minute, over: false });
    expect(fire({ room: 0 })).toMatchObject({ runs: [{ scheduledAt: start }], passed: [] });
  });

  it('leaves to the next fire what finds no room after its own runs, and answers what was missed in one', () => {
    const overlapping = (misfire_policy: object): object => cron({ rely_on_prev_cycle: false, misfire_policy });
    const onTime = fire({ job: overlapping({ threshold: 10 * minute }), late: 5 * minute, room: 2 });
    expect(short(onTime)).toEqual([[[0, 'runs'], [1, 'runs']], []]);
    expect(onTime.nextAt).toBe(start + 2 * minute);
    const missed = fire({ job: overlapping({ action: 'FIRE_ALL' }), late: 5 * minute, room: 2 });
    expect(missed.runs).toHaveLength(6);
    expect(missed.nextAt).toBe(start + 6 * minute);
  });

  describe('and a run that still goes', () => {
    const active: LiveRun = { id: 'a', taskKey: '#t#1', stands: 'active', begun: true };
    const held: LiveRun = { id: 'h', taskKey: '#t#2', stands: 'held', begun: false };

    it.each<[string, object, LiveRun[], unknown]>([
      ['DISCARD_LATER', {}, [active], { runs: [], passed: [{ state: 'DISCARDED', message: 'run a still goes' }], giveWay: [] }],
      ['DISCARD_LATER, when no worker has it yet', {}, [{ ...active, begun: false }], { runs: [], passed: [{ message: 'run a still waits for a worker' }] }],
      ['DISCARD_LATER, when it waits for its retry', {}, [{ id: 'w', taskKey: '#t#1', stands: 'waiting', begun: false }], { runs: [{ held: true }], passed: [], giveWay: [{ id: 'w', state: 'FAILED', message: `its retry gave way to run new-1 of ${new Date(start).toISOString()}` }] }],
      ['SERIAL', { strategy: 'SERIAL' }, [active], { runs: [{ held: true }], passed: [], giveWay: [] }],
      ['SERIAL with a full queue', { strategy: 'SERIAL' }, [active, held], { runs: [], passed: [{ message: 'the queue is full: 1 of 1 wait behind run a' }] }],
      ['COVER_EARLY', { strategy: 'COVER_EARLY' }, [active, held], { runs: [{ held: true }], giveWay: [{ id: 'a', state: 'CANCELLED', message: `covered by run new-1 of ${new Date(start).toISOString()}` }, { id: 'h', state: 'DISCARDED' }] }],
      ['COVER_EARLY and one by hand that waits', { strategy: 'COVER_EARLY' }, [active, { ...held, taskKey: '#t#mh' }], { runs: [{ held: true }], giveWay: [{ id: 'a', state: 'CANCELLED' }] }],
    ])('%s', (_name, policy, live, expected) => {
      expect(fire({ job: cron({ blocking_policy: policy }), live })).toMatchObject(expected as object);
    });

    it('CONCURRENT up to its limit', () => {
      const job = cron({ rely_on_prev_cycle: false, blocking_policy: { limit: 2 } });
      expect(fire({ job, live: [active] })).toMatchObject({ runs: [{ held: false, taskKey: `#t#${start}` }] });
      expect(fire({ job, live: [active, held] })).toMatchObject({ runs: [], passed: [{ message: '2 runs still go, the limit is 2' }] });
    });

    it('counts no time that did not run', () => {
      expect(fire({ job: repeat({}), fires: 2, live: [active] })).toMatchObject({ runs: [], nextAt: start + minute, over: false });
    });
  });
});
