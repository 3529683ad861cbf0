import { LtsError } from '../../../shared/errors/lts-error.js';
import { quoted } from '../../../shared/errors/quoted.js';
import type { Job } from '../../../shared/grpc/generated/lts/v1/Job.js';
import type { Schedule } from '../../../shared/grpc/generated/lts/v1/Schedule.js';
import { decodeJob } from '../../../shared/grpc/job-codec.js';
import { groupForm, taskIdForm } from '../../../shared/job/check-job.js';
import { planFromText, type SchedulePlan } from '../../../shared/schedule/schedule-plan.js';
import type { PastSchedule, ScheduleRow } from '../queue/queue-store.js';
import { pastState } from '../schedule/past-state.js';

/** A stored schedule in the words of the contract; without its job's bytes only what names the job and when it fires. */
export function toSchedule(row: ScheduleRow, nextTimes: number[] = []): Schedule {
  const { nodeGroup, taskId, type, priority, job } = row;
  return {
    schedule_id: row.id,
    job: job === undefined ? { task_id: taskId, node_group: nodeGroup, type, priority, ...firing(planFromText(row.plan)) } : decodeJob(job),
    state: `SCHEDULE_STATE_${row.state}`,
    next_fire_time: row.nextAt ?? 0,
    last_fire_time: row.lastAt ?? 0,
    fire_count: row.fires,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
    version: row.version,
    next_fire_times: nextTimes,
  };
}

/** One that fires no more, as far as it is kept. */
export function toPastSchedule(past: PastSchedule): Schedule {
  const { id, job, lastAt, endedAt } = past;
  return { schedule_id: id, job: decodeJob(job), state: `SCHEDULE_STATE_${pastState(past)}`, last_fire_time: lastAt ?? 0, ended_at: endedAt };
}

function firing({ times, count, startAt, endAt }: SchedulePlan): Job {
  const bounds = { start_time: startAt, end_time: endAt };
  switch (times.kind) {
    case 'cron':
      return { cron_expression: times.expression, cron_dialect: `CRON_DIALECT_${times.dialect}`, time_zone: times.zone, ...bounds };
    case 'repeat':
      return { repeat_interval: times.interval, repeat_count: count, repeat_mode: times.fixedDelay ? 'REPEAT_MODE_FIXED_DELAY' : 'REPEAT_MODE_FIXED_RATE', ...bounds };
    case 'window': {
      const window = { from: formatTimeOfDay(times.from), to: formatTimeOfDay(times.to), weekdays: times.weekdays };
      return { repeat_interval: times.every, repeat_count: count, daily_window: window, time_zone: times.zone, ...bounds };
    }
  }
}

/** HH:MM, or HH:MM:SS, of milliseconds since midnight. */
function formatTimeOfDay(ms: number): string {
  return new Date(ms).toISOString().slice(11, ms % 60_000 === 0 ? 16 : 19);
}

/** Where the next page begins. A group has no space, a task_id may have some. */
export function toPageToken({ nodeGroup, taskId }: ScheduleRow): string {
  return `${nodeGroup} ${taskId}`;
}

/** Throws INVALID_ARGUMENT. */
export function fromPageToken(token: string): { nodeGroup: string; taskId: string } | undefined {
  if (token === '') return undefined;
  const [nodeGroup = '', ...rest] = token.split(' ');
  const taskId = rest.join(' ');
  if (!groupForm.test(nodeGroup) || !taskIdForm.test(taskId)) throw new LtsError('INVALID_ARGUMENT', `page_token is ${quoted(token)}; use next_page_token of the page before`);
  return { nodeGroup, taskId };
}
