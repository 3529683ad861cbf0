import { LtsError } from '../../../shared/errors/lts-error.js';
import type { Job } from '../../../shared/grpc/generated/lts/v1/Job.js';
import type { SubmitResult__Output } from '../../../shared/grpc/generated/lts/v1/SubmitResult.js';
import { isSchedule } from '../../../shared/job/check-schedule.js';
import { systemClock } from '../../../shared/time/clock.js';
import type { ClientHandler } from '../command.js';
import { exitCodes, type ExitName } from '../exit-codes.js';
import { waitForEnd } from '../wait-for-end.js';
import { jobFromOptions, readInput, type SubmitOptions } from '../job-from-options.js';
import { intoBatches, jobsFromLines } from '../jobs-from-lines.js';
import { type Output, shortName } from '../output.js';
import type { Target } from '../target.js';
import { tellDuplicate } from '../tell-duplicate.js';
import { UsageError } from '../usage-error.js';

/** lts job submit: one job from the options, or a batch from a file. */
export const submitJob: ClientHandler<SubmitOptions> = async ({ options, target, output }) => {
  const jobs = options.file === undefined ? [jobFromOptions(options, systemClock.now())] : jobsIn(options.file, options);
  const schedule = options.wait ? jobs.find(isSchedule) : undefined;
  if (schedule !== undefined) throw new UsageError(`--wait waits for one run, and task ${schedule.task_id} is a schedule, which has many; leave it out`);
  const results = options.file === undefined ? [await submitOne(jobs[0] ?? {}, target)] : await submitBatches(jobs, target, output);
  if (!options.wait) print(results, output);
  if (options.file === undefined) await hint(jobs[0] ?? {}, results[0], target, output);
  const exit = worst(results);
  if (exit !== 'ok') {
    if (options.wait) print(results, output);
    return exit;
  }
  if (!options.wait) return 'ok';
  const ids = results.map(idToWaitFor);
  output.message(`waiting for ${shown(ids)} …`);
  // Ends the process at once: a call may be under way, and nothing is lost with it.
  process.once('SIGINT', () => {
    output.message(ids.length === 1 ? `the job goes on; see: lts job get ${ids[0]}` : `the jobs go on; see: lts job get ${ids[0]}, lts job list`);
    process.exit(exitCodes.interrupted.code);
  });
  return waitForEnd(ids, options.waitTimeout, target, output);
};

async function hint(job: Job, result: SubmitResult__Output | undefined, target: Target, output: Output): Promise<void> {
  if (result?.outcome === 'SUBMIT_OUTCOME_DUPLICATE_IGNORED') output.message(await tellDuplicate(job, result.existing_instance_id, target));
  else if (isSchedule(job)) output.message(`a schedule; see: lts schedule get --task-id ${job.task_id} --group ${job.node_group}`);
}

function shown(ids: readonly string[]): string {
  return ids.length === 1 ? `${ids[0]}` : `${ids.length} jobs, ${ids[0]} first`;
}

async function submitOne(job: Job, target: Target): Promise<SubmitResult__Output> {
  const { result } = await target.call<{ result: SubmitResult__Output | null }>((clients, options, answer) => clients.job.submitJob({ job }, options, answer));
  if (result === null) throw new LtsError('INTERNAL', 'the answer holds no result');
  return result;
}

function jobsIn(file: string, options: SubmitOptions): Job[] {
  if (options.taskId !== undefined || options.group !== undefined) throw new UsageError('--file holds whole jobs; leave out --task-id and --group');
  const jobs = jobsFromLines(readInput(file).toString('utf8'));
  if (jobs.length === 0) throw new UsageError(`${file} holds no job`);
  return jobs;
}

async function submitBatches(jobs: readonly Job[], target: Target, output: Output): Promise<SubmitResult__Output[]> {
  const results: SubmitResult__Output[] = [];
  for (const batch of intoBatches(jobs)) {
    try {
      const answer = await target.call<{ results: SubmitResult__Output[] }>((clients, call, done) => clients.job.submitJobs({ jobs: batch }, call, done));
      results.push(...answer.results);
    } catch (error) {
      print(results, output);
      output.message(`sent ${results.length} of ${jobs.length} jobs; the outcome of the next ${batch.length} is not known`);
      throw error;
    }
  }
  return results;
}

function print(results: SubmitResult__Output[], output: Output): void {
  output.data(results.length === 1 ? results[0] : results, () => ({
    head: ['instance id', 'outcome', 'message'],
    rows: results.map((result) => [result.instance_id, shortName(result.outcome, 'SUBMIT_OUTCOME'), messageOf(result)]),
  }));
}

function messageOf(result: SubmitResult__Output): string {
  if (result.reason !== '') return `${result.reason}: ${result.message}`;
  return result.existing_instance_id === '' ? result.message : `in place: ${result.existing_instance_id}`;
}

function worst(results: SubmitResult__Output[]): ExitName {
  if (results.some((result) => result.outcome === 'SUBMIT_OUTCOME_REJECTED')) return 'refused';
  return results.some((result) => result.outcome === 'SUBMIT_OUTCOME_NOT_OWNER') ? 'unavailable' : 'ok';
}

/** A duplicate that was ignored stands for the instance that waits already. */
function idToWaitFor(result: SubmitResult__Output): string {
  return result.outcome === 'SUBMIT_OUTCOME_DUPLICATE_IGNORED' ? result.existing_instance_id : result.instance_id;
}
