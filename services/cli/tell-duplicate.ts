import { LtsError } from '../../shared/errors/lts-error.js';
import type { Job } from '../../shared/grpc/generated/lts/v1/Job.js';
import { isSchedule } from '../../shared/job/check-schedule.js';
import type { Target } from './target.js';

/** Of a job that was ignored as a duplicate: what is in its place, and what can be done. */
export async function tellDuplicate(job: Job, existingId: string, target: Target): Promise<string> {
  const name = { task_id: job.task_id ?? '', node_group: job.node_group ?? '' };
  const which = `--task-id ${name.task_id} --group ${name.node_group}`;
  const scheduleStands = await target.call((clients, call, done) => clients.schedule.getSchedule({ ...name, live_only: true }, call, done)).then(() => true, notFound);
  const there = scheduleStands ? `task ${name.task_id} is a schedule already; see: lts schedule get ${which}` : `a one-shot job of task ${name.task_id} waits already; see: lts job get ${existingId}`;
  if (scheduleStands === isSchedule(job)) return job.replace_on_exist === true ? there : `${there}; to put this one in its place: --replace`;
  const mine = scheduleStands ? 'a one-shot job' : 'a schedule';
  return `${there}\n--replace does not put ${mine} in the place of ${scheduleStands ? 'a schedule' : 'a one-shot job'}; cancel it first: lts job cancel ${which}`;
}

function notFound(error: unknown): false {
  if (error instanceof LtsError && error.reason === 'NOT_FOUND') return false;
  throw error;
}
