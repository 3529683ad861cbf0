import { LtsError } from '../errors/lts-error.js';
import type { Job__Output } from '../grpc/generated/lts/v1/Job.js';
import { readGivenFields } from '../grpc/job-codec.js';
import { checkDecodedJob } from './check-job.js';

/** The job of its bytes, checked against the limits of the contract. Throws INVALID_ARGUMENT with the field and its value. */
export function readJob(bytes: Uint8Array): Job__Output {
  const job = decode(bytes);
  checkDecodedJob(job);
  return job;
}

function decode(bytes: Uint8Array): Job__Output {
  try {
    return readGivenFields(bytes);
  } catch (error) {
    throw new LtsError('INVALID_ARGUMENT', 'the job is not a readable lts.v1.Job; generate the client from proto/lts/v1', { cause: error });
  }
}
