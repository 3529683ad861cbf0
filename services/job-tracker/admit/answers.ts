import { LtsError } from '../../../shared/errors/lts-error.js';
import { reasons } from '../../../shared/errors/reasons.js';
import type { SubmitResult } from '../../../shared/grpc/generated/lts/v1/SubmitResult.js';
import type { AdmitOutcome, EnrollOutcome } from '../queue/queue-store.js';

/** What is told of a job that is not taken. */
export function refusal(id: string, error: LtsError): SubmitResult {
  const shown = error.reason === 'INTERNAL' ? 'internal error; see the log of the tracker' : error.message;
  return {
    instance_id: id,
    outcome: error.reason === 'NOT_OWNER' ? 'SUBMIT_OUTCOME_NOT_OWNER' : 'SUBMIT_OUTCOME_REJECTED',
    reason: error.reason,
    message: shown,
    code: reasons[error.reason].code,
    owner: error.owner ?? '',
  };
}

/** What is told of a job once the store has spoken. */
export function toResult(id: string, outcome: AdmitOutcome | EnrollOutcome): SubmitResult {
  switch (outcome.result) {
    case 'accepted':
      return { instance_id: id, outcome: 'SUBMIT_OUTCOME_ACCEPTED' };
    case 'replaced':
      return { instance_id: id, outcome: 'SUBMIT_OUTCOME_REPLACED', existing_instance_id: outcome.existingId };
    case 'duplicate':
      return { instance_id: id, outcome: 'SUBMIT_OUTCOME_DUPLICATE_IGNORED', existing_instance_id: outcome.existingId };
    case 'again':
      return toFirstAnswer(id, outcome.first, outcome.existingId);
    case 'conflict':
      return refusal(id, new LtsError('INSTANCE_ID_CONFLICT', `instance_id ${id} was sent before with other content; use a new id for a different job`));
    case 'refused':
      return refusal(id, new LtsError('INVALID_ARGUMENT', `the store does not take the job: ${outcome.message}`));
  }
}

function toFirstAnswer(id: string, first: 'accepted' | 'replaced' | 'duplicate', existing: string): SubmitResult {
  if (first === 'accepted') return { instance_id: id, outcome: 'SUBMIT_OUTCOME_ACCEPTED' };
  const outcome = first === 'replaced' ? 'SUBMIT_OUTCOME_REPLACED' : 'SUBMIT_OUTCOME_DUPLICATE_IGNORED';
  return { instance_id: id, outcome, existing_instance_id: existing };
}
