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
import type { Admission } from '../admit/admission.js';
import type { Cancellation } from '../admit/cancellation.js';

/** JobService: jobs in, as their bytes. */
export function jobService(handlers: Handlers, admission: Admission, cancellation: Cancellation): Record<string, UntypedHandleCall> {
  return {
    SubmitJob: handlers.unary<Raw<SubmitJobRequest__Output>, SubmitJobResponse>(async ({ job }) => {
      const [result] = await admission.submit([job], false);
      return { result: taken(result as SubmitResult) };
    }) as UntypedHandleCall,
    SubmitJobs: handlers.unary<Raw<SubmitJobsRequest__Output>, SubmitJobsResponse>(async ({ jobs, from_fail_store }) => ({
      results: await admission.submit(jobs, from_fail_store),
    })) as UntypedHandleCall,
    CancelJob: handlers.unary<CancelJobRequest__Output, CancelJobResponse>((request) => cancellation.cancel(request)) as UntypedHandleCall,
  };
}

/** For a single job a refusal is the error of the call. */
function taken(result: SubmitResult): SubmitResult {
  if ((result.code ?? 0) === 0) return result;
  const reason = (result.reason ?? '') in reasons ? (result.reason as Reason) : 'INTERNAL';
  throw new LtsError(reason, result.message ?? '', { owner: result.owner ?? '' });
}
