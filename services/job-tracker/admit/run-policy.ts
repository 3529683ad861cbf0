import type { Job__Output } from '../../../shared/grpc/generated/lts/v1/Job.js';
import type { RetryPolicy__Output } from '../../../shared/grpc/generated/lts/v1/RetryPolicy.js';
import type { RetryLaw, RunPolicy } from '../queue/queue-store.js';

/** The part of the job that decides how it goes on after an attempt. */
export function policyOf(job: Job__Output): RunPolicy {
  const policy: RunPolicy = {
    maxRetryTimes: job.max_retry_times,
    timeoutMs: job.execution_timeout,
    maxLost: job.max_lost ?? 3,
    failOnLoss: job.on_worker_loss === 'ON_WORKER_LOSS_FAIL',
  };
  if (job.retry_policy) policy.retry = retryLaw(job.retry_policy);
  return policy;
}

function retryLaw({ law, delay, max_delay, delays }: RetryPolicy__Output): RetryLaw {
  if (law === 'RETRY_LAW_LIST') return { law: 'LIST', delays };
  if (law === 'RETRY_LAW_EXPONENTIAL') return { law: 'EXPONENTIAL', delay: delay || 30_000, maxDelay: max_delay || 3_600_000 };
  return { law: 'FIXED', delay: delay || 30_000 };
}
