import { contract, rawContract } from '../../../shared/grpc/contract.js';
import type { Method } from './ends.js';

/** The calls between the simulated processes; messages cross packed as on the wire. */
export const methods = {
  work: rawContract.WorkerService.service.Work as unknown as Method,
  watchFeedback: contract.FeedbackService.service.WatchFeedback as unknown as Method,
  submitJobs: rawContract.JobService.service.SubmitJobs as unknown as Method,
  cancelJob: rawContract.JobService.service.CancelJob as unknown as Method,
  suspendSchedule: contract.ScheduleService.service.SuspendSchedule as unknown as Method,
  resumeSchedule: contract.ScheduleService.service.ResumeSchedule as unknown as Method,
  deleteSchedule: contract.ScheduleService.service.DeleteSchedule as unknown as Method,
  triggerSchedule: contract.ScheduleService.service.TriggerSchedule as unknown as Method,
};
