import { toLtsError } from '../../../shared/errors/lts-error.js';
import type { SubmitResult } from '../../../shared/grpc/generated/lts/v1/SubmitResult.js';
import type { Job__Output } from '../../../shared/grpc/generated/lts/v1/Job.js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { timeOfId } from '../../../shared/ids.js';
import { formatInstant } from '../../../shared/schedule/instant.js';
import { planOf, planToText, type SchedulePlan, spreadOf, timetableOf } from '../../../shared/schedule/schedule-plan.js';
import type { CommitPipeline } from '../queue/commit-pipeline.js';
import type { Admit, Enroll, EnrollOutcome } from '../queue/queue-store.js';
import type { Schedules } from '../schedule/schedules.js';
import { refusal, toResult } from './answers.js';

/** Jobs in memory beside their schedules are no larger, as those that the owner reads. */
const smallJobBytes = 4_096;

/** Step 1 for schedules: one durable commit, then the answer; from then on they fire. */
export class Enrollment {
  readonly #pipeline: CommitPipeline;
  readonly #schedules: Schedules;

  constructor(pipeline: CommitPipeline, schedules: Schedules) {
    this.#pipeline = pipeline;
    this.#schedules = schedules;
  }

  /** Takes in a job that is a schedule, in place of the one-shot that it would be. Throws INVALID_ARGUMENT for one that does not fire from now on. */
  enroll(job: Job__Output, { dueAt: _dueAt, start: _start, ...submitted }: Admit, settle: (result: SubmitResult) => void): void {
    const { plan, nextAt } = firstTime(job, submitted.createdAt);
    const enroll: Enroll = { ...submitted, kind: 'enroll', plan: planToText(plan), nextAt };
    this.#pipeline.add(enroll, (outcome, error) => {
      if (error !== undefined) return settle(refusal(enroll.id, error));
      const enrolled = outcome as EnrollOutcome;
      if (enrolled.result === 'accepted') this.#stands(enroll, enrolled);
      else if (enrolled.result === 'replaced') this.#schedules.replaced(enroll.partition, enroll.nodeGroup, enroll.taskId);
      settle(toResult(enroll.id, enrolled));
    }, enroll.job.length);
  }

  #stands(enroll: Enroll, { sched, version }: { sched: number; version: number }): void {
    const { id, nodeGroup, taskId, type, priority, needFeedback, submitNodeGroup, policy, plan, nextAt, job, createdAt, partition } = enroll;
    this.#schedules.stands(partition, {
      ...{ sched, version, id, nodeGroup, taskId, type, priority, needFeedback, submitNodeGroup, policy, plan, nextAt, createdAt },
      state: 'ACTIVE',
      fires: 0,
      lastAt: undefined,
      updatedAt: createdAt,
      job: job.length <= smallJobBytes ? Buffer.from(job) : undefined,
    });
  }
}

/** From now on; of a submission that is sent again, for which it may be too late by now, from when its id was made. */
function firstTime(job: Job__Output, now: number): { plan: SchedulePlan; nextAt: number } {
  try {
    return timesFrom(job, now);
  } catch (error) {
    const madeAt = job.instance_id === '' ? now : timeOfId(job.instance_id);
    if (toLtsError(error).reason !== 'INVALID_ARGUMENT' || madeAt >= now) throw error;
    return timesFrom(job, madeAt);
  }
}

function timesFrom(job: Job__Output, from: number): { plan: SchedulePlan; nextAt: number } {
  const plan = planOf(job, from);
  if (plan === undefined) throw new Error(`task ${job.task_id} is no schedule`);
  const nextAt = timetableOf(plan, spreadOf(job.node_group, job.task_id)).next(from);
  if (nextAt !== undefined) return { plan, nextAt };
  throw new LtsError('INVALID_ARGUMENT', `the schedule of task ${job.task_id} has no time to come${plan.endAt === 0 ? '' : ` before end_time ${formatInstant(plan.endAt) ?? plan.endAt}`}; give times that are still to come`);
}
