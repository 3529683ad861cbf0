import { LtsError } from '../../../shared/errors/lts-error.js';
import type { CancelJobRequest } from '../../../shared/grpc/generated/lts/v1/CancelJobRequest.js';
import type { CancelJobResponse } from '../../../shared/grpc/generated/lts/v1/CancelJobResponse.js';
import { isId } from '../../../shared/ids.js';
import type { CallParts } from '../discover/call-owner.js';
import type { Outbox } from '../outbox/outbox.js';
import { cancelAtOwner } from '../outbox/send-cancel.js';
import { groupForm, taskIdForm } from '../../../shared/job/check-job.js';

/** Takes jobs back: at the owner, or behind what is still stored of the job. */
export class Canceller {
  readonly #parts: CallParts;
  readonly #outbox: Outbox | undefined;
  readonly #timeoutMs: number;

  constructor(parts: CallParts, outbox: Outbox | undefined, timeoutMs: number) {
    this.#parts = parts;
    this.#outbox = outbox;
    this.#timeoutMs = timeoutMs;
  }

  /** Cancels. A cancel of a job that is not stored here is never stored: without a tracker it fails with NO_TRACKER. */
  async cancel(request: CancelJobRequest): Promise<CancelJobResponse> {
    check(request);
    const stored = this.#outbox?.addCancel(request);
    if (stored === undefined) return cancelAtOwner(this.#parts, request, this.#timeoutMs);
    await stored;
    return { outcome: 'CANCEL_OUTCOME_STORED_LOCALLY', instance_ids: request.instance_id ? [request.instance_id] : [] };
  }
}

function check({ instance_id: id = '', task_id: taskId = '', node_group: nodeGroup = '' }: CancelJobRequest): void {
  if (typeof nodeGroup !== 'string' || !groupForm.test(nodeGroup)) throw new LtsError('INVALID_ARGUMENT', `node_group is ${JSON.stringify(nodeGroup)}; name the group of the job`);
  if (id === '' && taskId === '') throw new LtsError('INVALID_ARGUMENT', 'instance_id and task_id are empty; give one of them');
  if (id !== '' && (typeof id !== 'string' || !isId(id))) throw new LtsError('INVALID_ARGUMENT', `instance_id is ${JSON.stringify(id)}; give the UUIDv7 that submit gave`);
  if (id === '' && (typeof taskId !== 'string' || !taskIdForm.test(taskId))) throw new LtsError('INVALID_ARGUMENT', `task_id is ${JSON.stringify(taskId)}; give the task_id of the job`);
}
