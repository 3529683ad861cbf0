import { LtsError } from '../../../shared/errors/lts-error.js';
import { quoted } from '../../../shared/errors/quoted.js';
import type { CancelJobRequest__Output } from '../../../shared/grpc/generated/lts/v1/CancelJobRequest.js';
import type { CancelJobResponse } from '../../../shared/grpc/generated/lts/v1/CancelJobResponse.js';
import { isId } from '../../../shared/ids.js';
import { groupForm, taskIdForm } from '../../../shared/job/check-job.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { AttemptSettlement } from '../complete/settle-attempt.js';
import type { Ownership } from '../lead/ownership.js';
import type { CommitPipeline, Settle } from '../queue/commit-pipeline.js';
import type { Cancel, CancelOutcome } from '../queue/queue-store.js';
import type { Schedules } from '../schedule/schedules.js';

/** Takes jobs back: what waits ends at once, what runs is asked to stop, a schedule fires no more. */
export class Cancellation {
  readonly #ownership: Ownership;
  readonly #pipeline: CommitPipeline;
  readonly #settlement: AttemptSettlement;
  readonly #schedules: Schedules;
  readonly #clock: Clock;

  constructor(ownership: Ownership, pipeline: CommitPipeline, settlement: AttemptSettlement, schedules: Schedules, clock: Clock) {
    this.#ownership = ownership;
    this.#pipeline = pipeline;
    this.#settlement = settlement;
    this.#schedules = schedules;
    this.#clock = clock;
  }

  cancel(request: CancelJobRequest__Output): Promise<CancelJobResponse> {
    const { instance_id: id, task_id: taskId, node_group: nodeGroup } = request;
    if (!groupForm.test(nodeGroup)) throw new LtsError('INVALID_ARGUMENT', `node_group is ${quoted(nodeGroup)}; name the group of the job`);
    if (id === '' && taskId === '') throw new LtsError('INVALID_ARGUMENT', 'neither instance_id nor task_id is given; name one');
    if (id !== '' && !isId(id)) throw new LtsError('INVALID_ARGUMENT', `instance_id is ${quoted(id)}; use the UUIDv7 that submit gave`);
    if (id === '' && !taskIdForm.test(taskId)) throw new LtsError('INVALID_ARGUMENT', `task_id is ${quoted(taskId)}; use the task_id of the job`);
    const partition = this.#ownership.require(nodeGroup);
    const cancel: Cancel = { kind: 'cancel', partition, nodeGroup, ...(id === '' ? { taskId } : { id }), at: this.#clock.now() };
    return new Promise((resolve, reject) => {
      const settle: Settle = (outcome, error) => {
        if (error !== undefined) return reject(error);
        const done = outcome as CancelOutcome;
        const named = id === '' ? `task ${taskId}` : `instance ${id}`;
        if (done.cancelled.length + done.cancelling.length + done.ended.length === 0 && done.schedule === undefined) {
          return reject(new LtsError('INSTANCE_NOT_FOUND', `group ${nodeGroup} has no ${named}; check the id and the group`));
        }
        if (done.schedule !== undefined) this.#schedules.gone(partition, nodeGroup, taskId);
        this.#settlement.cancelled(nodeGroup, done);
        resolve(toResponse(done));
      };
      if (id === '') this.#schedules.ending.end(cancel, 'cancel', settle);
      else this.#pipeline.add(cancel, settle);
    });
  }
}

/** Ids that one answer names: of very many it would be larger than a message may be. */
export const mostNamed = 1_000;

/** The schedule is named beside its runs: it has an id as they have. */
function toResponse({ cancelled: instances, cancelling, ended, schedule, left }: CancelOutcome): CancelJobResponse {
  const cancelled = schedule === undefined ? instances : [...instances, { id: schedule }];
  if (cancelling.length > 0) {
    return named('CANCEL_OUTCOME_CANCELLING', [...cancelling, ...cancelled].map(({ id }) => id), left);
  }
  if (cancelled.length > 0) return named('CANCEL_OUTCOME_CANCELLED', cancelled.map(({ id }) => id), left);
  return named('CANCEL_OUTCOME_ALREADY_ENDED', ended);
}

function named(outcome: NonNullable<CancelJobResponse['outcome']>, ids: readonly string[], more?: true): CancelJobResponse {
  return { outcome, instance_ids: ids.slice(0, mostNamed), instance_count: ids.length, ...(more === undefined ? {} : { more }) };
}
