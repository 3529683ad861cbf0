import { LtsError } from '../../../shared/errors/lts-error.js';
import { quoted } from '../../../shared/errors/quoted.js';
import type { Schedule } from '../../../shared/grpc/generated/lts/v1/Schedule.js';
import { decodeJob } from '../../../shared/grpc/job-codec.js';
import { groupForm, taskIdForm } from '../../../shared/job/check-job.js';
import type { ScheduleRow } from '../queue/queue-store.js';

/** A stored schedule in the words of the contract; without its job's bytes only what lists need of the job. */
export function toSchedule(row: ScheduleRow, nextTimes: number[] = []): Schedule {
  const { nodeGroup, taskId, type, priority, job } = row;
  return {
    schedule_id: row.id,
    job: job === undefined ? { task_id: taskId, node_group: nodeGroup, type, priority } : decodeJob(job),
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
