import { status } from '@grpc/grpc-js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { type Reason, reasons } from '../../../shared/errors/reasons.js';
import type { Raw } from '../../../shared/grpc/contract.js';
import type { SubmitJobsRequest } from '../../../shared/grpc/generated/lts/v1/SubmitJobsRequest.js';
import type { SubmitJobsResponse__Output } from '../../../shared/grpc/generated/lts/v1/SubmitJobsResponse.js';
import type { SubmitResult } from '../../../shared/grpc/generated/lts/v1/SubmitResult.js';
import type { CallParts } from '../discover/call-owner.js';
import { isPassing, Journey, toCallError } from '../discover/journey.js';
import type { PendingJob } from './pending-job.js';

/** Jobs that nobody took in time; whether one of them was taken after all is not known. */
export interface Unsent {
  jobs: PendingJob[];
  /** The last thing that was heard. */
  why: LtsError;
}

/** A call that fails so may fail because of one of its jobs. */
const mayBeOneJob = new Set([status.INVALID_ARGUMENT, status.INTERNAL]);

/** What one call left: jobs to send again, and whether it is known where. */
interface Left {
  jobs: PendingJob[];
  progress: boolean;
  why?: LtsError;
}

/** The answer for a job that is refused. */
export function rejected(job: PendingJob, error: LtsError): SubmitResult {
  return { instance_id: job.instanceId, outcome: 'SUBMIT_OUTCOME_REJECTED', reason: error.reason, message: error.message, code: reasons[error.reason].code };
}

/**
 * Sends a batch, split by owner, until each job has its answer or the time is up: follows NOT_OWNER, tries other
 * trackers, always with the same ids. Either all or none of the jobs are `late`. A refusal is an answer; only what is passing is tried again.
 */
export async function sendBatch(parts: CallParts, jobs: PendingJob[], timeoutMs: number): Promise<Unsent> {
  const journey = new Journey(parts.router, parts.clock, timeoutMs);
  let open = jobs;
  let why = new LtsError('NO_TRACKER', 'no JobTracker is known; start one, or check the addresses');
  for (;;) {
    const rounds = [...byAddress(open, journey)].map(([address, group]) => sendTo(parts, journey, address, group));
    const lefts = rounds.length === 1 && rounds[0] !== undefined ? [await rounds[0]] : await Promise.all(rounds);
    open = lefts.length === 1 && lefts[0] !== undefined ? lefts[0].jobs : lefts.flatMap((left) => left.jobs);
    if (open.length === 0) return { jobs: open, why };
    why = lefts.findLast((left) => left.why !== undefined)?.why ?? why;
    const progress = lefts.every((left) => left.progress || left.jobs.length === 0);
    if (!(await journey.next(progress))) return { jobs: open, why };
  }
}

function byAddress(jobs: PendingJob[], journey: Journey): Map<string, PendingJob[]> {
  const addressOf = new Map<string, string>();
  const groups = new Map<string, PendingJob[]>();
  for (const job of jobs) {
    let address = addressOf.get(job.nodeGroup);
    if (address === undefined) {
      address = journey.pick(job.nodeGroup) ?? '';
      addressOf.set(job.nodeGroup, address);
    }
    const group = groups.get(address);
    if (group === undefined) groups.set(address, [job]);
    else group.push(job);
  }
  return groups;
}

async function sendTo(parts: CallParts, journey: Journey, address: string, jobs: PendingJob[]): Promise<Left> {
  if (address === '') return { jobs, progress: false };
  let response: SubmitJobsResponse__Output;
  try {
    response = await submitJobs(parts, address, jobs, journey.tryMs);
    if (response.results.length !== jobs.length) throw new LtsError('INTERNAL', `${address} gave ${response.results.length} results for ${jobs.length} jobs`);
  } catch (error) {
    return onCallError(parts, journey, address, jobs, toCallError(error, address));
  }
  return onAnswer(journey, address, jobs, response);
}

function submitJobs(parts: CallParts, address: string, jobs: PendingJob[], limitMs: number): Promise<SubmitJobsResponse__Output> {
  const request: Raw<SubmitJobsRequest> = { jobs: jobs.map((job) => job.bytes), from_fail_store: jobs[0]?.late ?? false };
  const { job: client } = parts.clients.at(address);
  return new Promise((resolve, reject) => {
    client.submitJobs(request as unknown as SubmitJobsRequest, { deadline: parts.clock.now() + limitMs }, (error, response) => {
      if (response === undefined) reject(error ?? new LtsError('INTERNAL', `${address} gave no answer`));
      else resolve(response);
    });
  });
}

async function onCallError(parts: CallParts, journey: Journey, address: string, jobs: PendingJob[], error: LtsError): Promise<Left> {
  if (isPassing(error.reason)) {
    if (error.reason !== 'NOT_OWNER') journey.failed(address, error.reason);
    const groups = error.reason === 'NOT_OWNER' ? new Set(jobs.map((job) => job.nodeGroup)) : new Set<string>();
    const followed = [...groups].map((nodeGroup) => journey.follow(nodeGroup, address, error.owner ?? ''));
    return { jobs, progress: followed.length > 0 && followed.every(Boolean), why: error };
  }
  // The call is refused because of one of its jobs: only that one gets the error.
  if (jobs.length > 1 && mayBeOneJob.has(reasons[error.reason].code)) {
    if (journey.isOver) return { jobs, progress: false, why: error };
    const half = jobs.length >> 1;
    const first = await sendTo(parts, journey, address, jobs.slice(0, half));
    const second = await sendTo(parts, journey, address, jobs.slice(half));
    const why = second.why ?? first.why;
    return { jobs: [...first.jobs, ...second.jobs], progress: first.progress && second.progress, ...(why === undefined ? {} : { why }) };
  }
  for (const job of jobs) job.sink.settle(job.index, rejected(job, error));
  return { jobs: [], progress: true };
}

function onAnswer(journey: Journey, address: string, jobs: PendingJob[], response: SubmitJobsResponse__Output): Left {
  const left: Left = { jobs: [], progress: true };
  const followed = new Map<string, boolean>();
  let failed: Reason | undefined;
  response.results.forEach((result, at) => {
    const job = jobs[at];
    if (job === undefined) return;
    const again = result.outcome === 'SUBMIT_OUTCOME_NOT_OWNER' || (result.outcome === 'SUBMIT_OUTCOME_REJECTED' && isPassing(result.reason));
    if (!again) {
      if (result.instance_id === '') result.instance_id = job.instanceId;
      job.sink.settle(job.index, result);
      return;
    }
    left.jobs.push(job);
    if (result.outcome === 'SUBMIT_OUTCOME_NOT_OWNER') {
      const progress = followed.get(job.nodeGroup) ?? journey.follow(job.nodeGroup, address, result.owner);
      followed.set(job.nodeGroup, progress);
      if (progress) return;
    }
    else failed = result.reason as Reason;
    left.progress = false;
    const message = result.message === '' ? `${address} does not own group ${job.nodeGroup} and knows no owner` : result.message;
    left.why = new LtsError(result.reason in reasons ? (result.reason as Reason) : 'NOT_OWNER', message);
  });
  if (failed !== undefined) journey.failed(address, failed);
  return left;
}
