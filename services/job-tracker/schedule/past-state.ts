import { decodeJob } from '../../../shared/grpc/job-codec.js';
import { timeOfId } from '../../../shared/ids.js';
import { planOf, spreadOf, timetableOf } from '../../../shared/schedule/schedule-plan.js';
import type { PastSchedule } from '../queue/queue-store.js';

/**
 * How a schedule ended. That is not stored: it follows from whether it had a time to come. A fire that makes the last
 * run ends it in the same moment.
 */
export function pastState({ id, nodeGroup, taskId, job, endedAt, answeredAt }: PastSchedule): 'OVER' | 'DELETED' {
  const plan = planOf(decodeJob(job), timeOfId(id));
  if (plan === undefined) return 'DELETED';
  const { times, count, endAt } = plan;
  const fired = answeredAt === endedAt;
  if (fired && count > 0) return 'OVER';
  if (times.kind === 'repeat' && times.fixedDelay) return endAt !== 0 && endedAt + (fired ? times.interval : 0) > endAt ? 'OVER' : 'DELETED';
  return timetableOf(plan, spreadOf(nodeGroup, taskId)).next(fired ? endedAt + 1 : endedAt) === undefined ? 'OVER' : 'DELETED';
}
