/*
 * The client library: everything that an application uses.
 */
export { LtsError } from '../../shared/errors/lts-error.js';
export type { Reason } from '../../shared/errors/reasons.js';
export type { CancelJobRequest } from '../../shared/grpc/generated/lts/v1/CancelJobRequest.js';
export type { CancelJobResponse } from '../../shared/grpc/generated/lts/v1/CancelJobResponse.js';
export type { SubmitResult } from '../../shared/grpc/generated/lts/v1/SubmitResult.js';
export type { MasterListener, Mastership } from '../../shared/master/master-lease.js';
export { newId } from '../../shared/ids.js';
export { JobClient, type JobClientOptions, type ResultOptions } from './job-client.js';
export type { JobResult, ResultHandler, ResultSubscription } from './results/result-receiver.js';
export type { NewPreview, NewTrigger, ScheduleFilter } from './schedules/schedules.js';
export type { CronReading, NewBlockingPolicy, NewJob, NewMisfirePolicy, NewRetryPolicy } from './submit/new-job.js';
