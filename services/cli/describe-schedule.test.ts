import { describe, expect, it } from 'vitest';
import type { Job } from '../../shared/grpc/generated/lts/v1/Job.js';
import type { Schedule__Output } from '../../shared/grpc/generated/lts/v1/Schedule.js';
import { decodeJob, encodeJob } from '../../shared/grpc/job-codec.js';
import { checkJob } from '../../shared/job/check-job.js';
import { formatTime } from './output.js';
import { describeSchedule } from './describe-schedule.js';

function shown(fields: Job, more: Partial<Schedule__Output> = {}): string {
  const schedule: Schedule__Output = {
    schedule_id: 's', state: 'SCHEDULE_STATE_ACTIVE', job: decodeJob(encodeJob(checkJob({ task_id: 't', node_group: 'g', ...fields }))),
    next_fire_time: 0, last_fire_time: 0, fire_count: 0, created_at: 0, updated_at: 0, version: 1, next_fire_times: [], ended_at: 0, ...more,
  };
  return describeSchedule(schedule).replaceAll(/ +/g, ' ');
}

describe('describeSchedule', () => {
  it('shows what takes effect where nothing is said', () => {
    expect(shown({ cron_expression: '@daily' })).toMatch(/misfire FIRE_ONCE, when late by more than 1m\nblocking DISCARD_LATER\n/);
    expect(shown({ cron_expression: '@daily', rely_on_prev_cycle: false })).toMatch(/rely on previous no, runs may overlap\n.*\nblocking CONCURRENT, any number at once\n/);
  });

  it('shows when it ended, and nothing that is not kept then', () => {
    const text = shown({ cron_expression: '@daily' }, { state: 'SCHEDULE_STATE_DELETED', ended_at: 5_000, last_fire_time: 1_000 });
    for (const line of ['state DELETED', `ended ${formatTime(5_000)}`, `last fire ${formatTime(1_000)}`]) expect(text).toContain(`\n${line}\n`);
    expect(text).not.toMatch(/\n(runs|created) /);
    expect(shown({ cron_expression: '@daily' })).toContain('\nruns 0\n');
  });

  it('shows what is said', () => {
    const window = { repeat_interval: 900_000, daily_window: { from: '09:00', to: '17:00', weekdays: [1, 2, 3, 4, 5, 7] } };
    expect(shown({ ...window, misfire_policy: { action: 'MISFIRE_ACTION_FIRE_ALL', newest: 5, window: 3_600_000 }, blocking_policy: { strategy: 'BLOCKING_STRATEGY_SERIAL', limit: 3 } })).toMatch(
      /fires every 15m, 09:00-17:00 on MON-FRI,SUN\n.*\nmisfire FIRE_ALL, the newest 5 that are no older than 1h, when late by more than 1m\nblocking SERIAL, 3 may wait\n/,
    );
  });
});
