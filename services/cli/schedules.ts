import type { ValuesOf } from '../../shared/config/settings.js';
import type { Job__Output } from '../../shared/grpc/generated/lts/v1/Job.js';
import type { Schedule__Output } from '../../shared/grpc/generated/lts/v1/Schedule.js';
import { LtsError } from '../../shared/errors/lts-error.js';
import { formatWeekdays } from '../../shared/schedule/window-text.js';
import { formatDuration } from '../../shared/time/duration.js';
import type { whichOptions } from './command-options.js';
import { shortName } from './output.js';
import { UsageError } from './usage-error.js';

/** Which schedule. Throws UsageError. */
export function scheduleName({ taskId, group }: ValuesOf<typeof whichOptions>): { task_id: string; node_group: string } {
  if (taskId === undefined || group === undefined) throw new UsageError('name the schedule: --task-id and --group');
  return { task_id: taskId, node_group: group };
}

/** The schedule of an answer, which always has one. */
export function scheduleIn({ schedule }: { schedule: Schedule__Output | null }): Schedule__Output {
  if (schedule === null) throw new LtsError('INTERNAL', 'the answer holds no schedule');
  return schedule;
}

/** ACTIVE and the like. */
export function scheduleState({ state }: Schedule__Output): string {
  return shortName(state, 'SCHEDULE_STATE');
}

/** When it fires, for people: one line. */
export function firesAt(job: Job__Output | null): string {
  if (job === null) return '';
  const zone = job.time_zone === '' ? '' : ` ${job.time_zone}`;
  if (job.cron_expression !== '') return `${job.cron_expression}${zone}`;
  const every = `every ${formatDuration(job.repeat_interval)}`;
  const { daily_window: window } = job;
  if (window !== null) return `${every}, ${window.from}-${window.to}${window.weekdays.length === 0 ? '' : ` on ${formatWeekdays(window.weekdays)}`}${zone}`;
  const after = job.repeat_mode === 'REPEAT_MODE_FIXED_DELAY' ? ' after its end' : '';
  return `${every}${after}${job.repeat_count > 0 ? `, ${job.repeat_count} times` : ''}`;
}
