import type { UntypedHandleCall } from '@grpc/grpc-js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { type Reason, reasons } from '../../../shared/errors/reasons.js';
import type { Raw } from '../../../shared/grpc/contract.js';
import type { CancelJobRequest__Output } from '../../../shared/grpc/generated/lts/v1/CancelJobRequest.js';
import type { CancelJobResponse } from '../../../shared/grpc/generated/lts/v1/CancelJobResponse.js';
import type { SubmitJobRequest__Output } from '../../../shared/grpc/generated/lts/v1/SubmitJobRequest.js';
import type { SubmitJobResponse } from '../../../shared/grpc/generated/lts/v1/SubmitJobResponse.js';
import type { SubmitJobsRequest__Output } from '../../../shared/grpc/generated/lts/v1/SubmitJobsRequest.js';
import type { SubmitJobsResponse } from '../../../shared/grpc/generated/lts/v1/SubmitJobsResponse.js';
import type { SubmitResult } from '../../../shared/grpc/generated/lts/v1/SubmitResult.js';
import type { Handlers } from '../../../shared/grpc/handlers.js';
import type { Core } from '../core.js';
import { fromBytes } from '../submit/pending-job.js';
import { refusedValue, ResultList } from '../submit/submitter.js';

const maxJobs = 1_000;

/** JobService: jobs in as their bytes, checked, and on to the owner or into the FailStore. `accepting`: throws when the gateway leaves. */
export function jobService(handlers: Handlers, core: Core, accepting: () => void): Record<string, UntypedHandleCall> {
  const submit = (jobs: readonly Buffer[], late: boolean): Promise<SubmitResult[]> => {
    accepting();
    core.submitter.requireRoom();
    const list = new ResultList(jobs.length);
    jobs.forEach((bytes, index) => {
      try {
        core.submitter.submit(fromBytes(bytes, list, index, late));
      } catch (error) {
        list.settle(index, refusedValue(error));
      }
    });
    return list.all();
  };
  return {
    SubmitJob: handlers.unary<Raw<SubmitJobRequest__Output>, SubmitJobResponse>(async ({ job }) => ({ result: taken((await submit([job], false))[0] ?? {}) })) as UntypedHandleCall,
    SubmitJobs: handlers.unary<Raw<SubmitJobsRequest__Output>, SubmitJobsResponse>(async ({ jobs, from_fail_store: late }) => {
      if (jobs.length === 0 || jobs.length > maxJobs) throw new LtsError('INVALID_ARGUMENT', `jobs has ${jobs.length} entries; send 1 to ${maxJobs}`);
      return { results: await submit(jobs, late) };
    }) as UntypedHandleCall,
    CancelJob: handlers.unary<CancelJobRequest__Output, CancelJobResponse>((request) => {
      accepting();
      return core.canceller.cancel(request);
    }) as UntypedHandleCall,
  };
}

/** For a single job a refusal is the error of the call. */
function taken(result: SubmitResult): SubmitResult {
  if (result.outcome !== 'SUBMIT_OUTCOME_REJECTED') return result;
  const reason = (result.reason ?? '') in reasons ? (result.reason as Reason) : 'INTERNAL';
  throw new LtsError(reason, result.message ?? '');
}
