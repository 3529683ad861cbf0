import { LtsError } from '../../../shared/errors/lts-error.js';
import type { Job__Output } from '../../../shared/grpc/generated/lts/v1/Job.js';
import type { RetryPolicy__Output } from '../../../shared/grpc/generated/lts/v1/RetryPolicy.js';
import { isId, timeOfId } from '../../../shared/ids.js';
import type { RetryLaw, RunPolicy } from '../queue/queue-store.js';

/** Limits of the contract (job.proto). */
export const limits = {
  taskIdPattern: /^[A-Za-z0-9._:/@+=,-](?:[A-Za-z0-9._:/@+=, -]{0,126}[A-Za-z0-9._:/@+=,-])?$/,
  groupPattern: /^[A-Za-z0-9._:-]{1,64}$/,
  payloadBytes: 1024 * 1024,
  textChars: 128,
  params: 64,
  paramKeyBytes: 128,
  paramValueBytes: 8_192,
  retries: 1_000,
  retryDelays: 100,
  longestMs: 366 * 86_400_000,
  idAheadMs: 86_400_000,
} as const;

/** A number that the contract does not name arrives as a number, not as a name. */
const retryLaws: ReadonlySet<unknown> = new Set(['RETRY_LAW_UNSPECIFIED', 'RETRY_LAW_FIXED', 'RETRY_LAW_EXPONENTIAL', 'RETRY_LAW_LIST']);

function refuse(field: string, value: unknown, rule: string): never {
  refuseAs(field, typeof value === 'string' ? JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value) : String(value), rule);
}

function refuseAs(field: string, shown: string, rule: string): never {
  throw new LtsError('INVALID_ARGUMENT', `${field} is ${shown}; ${rule}`);
}

/** Throws INVALID_ARGUMENT with the field, its value and the rule when the job breaks a limit of the contract. */
export function checkJob(job: Job__Output, now: number, retentionMs: number): void {
  if (!limits.taskIdPattern.test(job.task_id)) refuse('task_id', job.task_id, 'use 1 to 128 of A-Z a-z 0-9 . _ : / @ + = , - and space inside');
  if (!limits.groupPattern.test(job.node_group)) refuse('node_group', job.node_group, 'use 1 to 64 of A-Z a-z 0-9 . _ : -');
  if (job.need_feedback && job.submit_node_group === '') refuse('submit_node_group', '', 'name the JobClient group that receives the result, or leave need_feedback out');
  if (job.submit_node_group !== '' && !limits.groupPattern.test(job.submit_node_group)) refuse('submit_node_group', job.submit_node_group, 'use 1 to 64 of A-Z a-z 0-9 . _ : -');
  checkText('type', job.type);
  checkText('content_type', job.content_type);
  if (job.payload.length > limits.payloadBytes) refuseAs('payload', `${job.payload.length} bytes long`, 'at most 1 MiB; store it elsewhere and submit where it lies');
  checkParams(job.ext_params);
  checkNumber('trigger_time', job.trigger_time, 0, Number.MAX_SAFE_INTEGER, 'milliseconds since 1970 UTC');
  checkNumber('max_retry_times', job.max_retry_times, 0, limits.retries, 'times');
  checkNumber('execution_timeout', job.execution_timeout, 0, limits.longestMs, 'milliseconds, 0 for no limit');
  if (job.max_lost !== undefined) checkNumber('max_lost', job.max_lost, 1, limits.retries, 'times');
  if (!['ON_WORKER_LOSS_UNSPECIFIED', 'ON_WORKER_LOSS_REQUEUE', 'ON_WORKER_LOSS_FAIL'].includes(job.on_worker_loss)) refuse('on_worker_loss', job.on_worker_loss, 'use REQUEUE or FAIL');
  if (job.retry_policy) checkRetry(job.retry_policy);
  if (job.instance_id !== '') checkId(job.instance_id, now, retentionMs);
}

function checkText(field: string, value: string): void {
  if (value.length > limits.textChars) refuse(field, value, `at most ${limits.textChars} characters`);
  if (value.includes('\0')) refuse(field, value, 'it must not contain NUL');
}

function checkParams(params: Record<string, string>): void {
  const names = Object.keys(params);
  if (names.length > limits.params) refuseAs('ext_params', `${names.length} entries`, `at most ${limits.params}; put more into the payload`);
  for (const name of names) {
    if (Buffer.byteLength(name) > limits.paramKeyBytes) refuse('ext_params key', name, `at most ${limits.paramKeyBytes} bytes`);
    if (Buffer.byteLength(params[name] ?? '') > limits.paramValueBytes) refuse(`ext_params[${name}]`, params[name], `at most ${limits.paramValueBytes} bytes`);
  }
}

function checkNumber(field: string, value: number, least: number, most: number, unit: string): void {
  if (!Number.isSafeInteger(value) || value < least || value > most) refuse(field, value, `use ${least} to ${most} (${unit})`);
}

function checkRetry(policy: RetryPolicy__Output): void {
  if (!retryLaws.has(policy.law)) refuse('retry_policy.law', policy.law, 'use FIXED, EXPONENTIAL or LIST');
  checkNumber('retry_policy.delay', policy.delay, 0, limits.longestMs, 'milliseconds');
  checkNumber('retry_policy.max_delay', policy.max_delay, 0, limits.longestMs, 'milliseconds');
  const count = policy.delays.length;
  if (policy.law === 'RETRY_LAW_LIST' && (count === 0 || count > limits.retryDelays)) refuseAs('retry_policy.delays', `${count} entries`, `give 1 to ${limits.retryDelays}`);
  for (const delay of policy.delays) checkNumber('retry_policy.delays', delay, 0, limits.longestMs, 'milliseconds');
}

function checkId(id: string, now: number, retentionMs: number): void {
  if (!isId(id)) refuse('instance_id', id, 'use a UUIDv7 in lower case, or leave it out');
  const madeAt = timeOfId(id);
  if (madeAt > now + limits.idAheadMs) refuse('instance_id', id, `it was made ${Math.round((madeAt - now) / 1000)} s in the future; set the clock of its maker`);
  if (madeAt < now - retentionMs) refuse('instance_id', id, 'it is older than the retention, so a repeat could not be recognised; make a new one');
}

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
