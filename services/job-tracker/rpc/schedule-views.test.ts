import { describe, expect, it } from 'vitest';
import type { Job } from '../../../shared/grpc/generated/lts/v1/Job.js';
import { encodeJob } from '../../../shared/grpc/job-codec.js';
import { planOf, planToText } from '../../../shared/schedule/schedule-plan.js';
import type { ScheduleRow } from '../queue/schedule-store.js';
import { fromPageToken, toPageToken, toSchedule } from './schedule-views.js';

const now = 1_700_000_000_000;
const name = { task_id: 'a task', node_group: 'g' };

function row(fields: Job, more: Partial<ScheduleRow> = {}): ScheduleRow {
  const job = { ...name, ...fields };
  const plan = planOf(job, now);
  if (plan === undefined) throw new Error('it is no schedule');
  return {
    sched: 1, version: 3, id: 'id', nodeGroup: 'g', taskId: 'a task', type: 'x', priority: 7, needFeedback: false, submitNodeGroup: '',
    policy: { maxRetryTimes: 0, timeoutMs: 0, maxLost: 3, failOnLoss: false },
    plan: planToText(plan), state: 'ACTIVE', nextAt: now, fires: 2, lastAt: undefined, createdAt: 1, updatedAt: 2, job: undefined, ...more,
  };
}

describe('toSchedule', () => {
  it('shows the whole job where its bytes are read', () => {
    const job = { ...name, cron_expression: '@daily', payload: Buffer.from('hi') };
    expect(toSchedule(row(job, { job: encodeJob(job) }), [now, now + 1])).toMatchObject({
      schedule_id: 'id', job, state: 'SCHEDULE_STATE_ACTIVE', next_fire_time: now, last_fire_time: 0, fire_count: 2, created_at: 1, updated_at: 2, version: 3, next_fire_times: [now, now + 1],
    });
  });

  it.each<[string, Job]>([
    ['a cron expression', { cron_expression: '0 30 2 ? * MON', cron_dialect: 'CRON_DIALECT_QUARTZ', time_zone: 'Europe/Berlin', start_time: now, end_time: 2 * now }],
    ['a repeat', { repeat_interval: 5_000, repeat_count: 3, repeat_mode: 'REPEAT_MODE_FIXED_DELAY' }],
    ['a window', { repeat_interval: 60_000, daily_window: { from: '09:00', to: '17:30:15', weekdays: [1, 7] }, time_zone: 'UTC' }],
  ])('tells in lists what names it and when it fires: %s', (_, fields) => {
    expect(toSchedule(row(fields)).job).toMatchObject({ ...name, type: 'x', priority: 7, ...fields });
  });

  it('has no next time where there is none', () => {
    expect(toSchedule(row({ cron_expression: '@daily' }, { state: 'SUSPENDED', nextAt: undefined }))).toMatchObject({ state: 'SCHEDULE_STATE_SUSPENDED', next_fire_time: 0 });
  });
});

describe('the token of a page', () => {
  it('names where the next one begins', () => {
    expect(fromPageToken(toPageToken(row({ cron_expression: '@daily' })))).toEqual({ nodeGroup: 'g', taskId: 'a task' });
    expect(fromPageToken('')).toBeUndefined();
  });

  it.each(['g', ' t', 'g  t', 'no/group t', `g ${'x'.repeat(129)}`])('is refused when it is none: %s', (token) => {
    expect(() => fromPageToken(token)).toThrow('page_token is');
  });
});
