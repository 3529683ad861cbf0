import type { Job, Job__Output } from '../grpc/generated/lts/v1/Job.js';
import type { RetryPolicy } from '../grpc/generated/lts/v1/RetryPolicy.js';
import { isId } from '../ids.js';
import { planOf } from '../schedule/schedule-plan.js';
import { scheduleFields } from './check-schedule.js';
import { checkFields, delays, type FieldCheck, flag, formed, milliseconds, oneOf, params, payload, refuse, shortText, time, type Values, whole } from './field-checks.js';

const int32 = 2 ** 31;
export const taskIdForm = /^[A-Za-z0-9._:/@+=,-](?:[A-Za-z0-9._:/@+=, -]{0,126}[A-Za-z0-9._:/@+=,-])?$/;
export const groupForm = /^[A-Za-z0-9._:-]{1,64}$/;
const laws = ['FIXED', 'EXPONENTIAL', 'LIST'];
const losses = ['REQUEUE', 'FAIL'];

const retryFields: Record<string, FieldCheck> = { law: oneOf(laws, 'RETRY_LAW_'), delay: milliseconds, max_delay: milliseconds, delays };

function retryPolicy(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse(field, value, 'give an object');
  const policy = checkFields(value as Values, retryFields, `${field}.`) as RetryPolicy;
  if (policy.law === 'RETRY_LAW_LIST' && (policy.delays ?? []).length === 0) refuse(`${field}.delays`, policy.delays, 'the law LIST needs 1 to 100 delays');
  return policy;
}

const groupRule = 'give 1 to 64 of the characters A-Z a-z 0-9 . _ : -';

export const taskIdCheck = formed(taskIdForm, 'give 1 to 128 of the characters A-Z a-z 0-9 . _ : / @ + = , - and space inside', false);
export const groupCheck = formed(groupForm, groupRule, false);

export function instanceIdCheck(value: unknown, field: string): unknown {
  return typeof value === 'string' && (value === '' || isId(value)) ? value : refuse(field, value, 'give a UUIDv7 in lower case, or leave it out');
}

const fields: Record<string, FieldCheck> = {
  task_id: taskIdCheck,
  node_group: groupCheck,
  type: shortText,
  payload,
  content_type: shortText,
  ext_params: params,
  priority: whole(-int32, int32 - 1, ''),
  trigger_time: time,
  max_retry_times: whole(0, 1_000, ''),
  retry_policy: retryPolicy,
  need_feedback: flag,
  submit_node_group: formed(groupForm, groupRule, true),
  replace_on_exist: flag,
  execution_timeout: milliseconds,
  on_worker_loss: oneOf(losses, 'ON_WORKER_LOSS_'),
  max_lost: whole(1, 1_000, ''),
  instance_id: instanceIdCheck,
  ...scheduleFields,
};

/**
 * The job with values that serialise as they were meant; the tracker checks them again. Throws INVALID_ARGUMENT with the field, its value and the rule, CRON_INVALID for a cron expression.
 * `submitNodeGroup`: receives the result when the job needs feedback and names no group.
 */
export function checkJob(job: unknown, submitNodeGroup = ''): Job {
  if (typeof job !== 'object' || job === null || Array.isArray(job)) return refuse('the job', job, 'give an object');
  const checked = checkFields(job as Values, fields, '') as Job;
  if (checked.task_id === undefined) refuse('task_id', undefined, 'it is required');
  if (checked.node_group === undefined) refuse('node_group', undefined, 'it is required');
  if (checked.need_feedback && !checked.submit_node_group && submitNodeGroup !== '') checked.submit_node_group = submitNodeGroup;
  checkTogether(checked);
  return checked;
}

/**
 * The same for a job as it was decoded. Its fields are known, those that are not given are right but for the names, and
 * nothing is copied: this is done for every job on its way in.
 */
export function checkDecodedJob(job: Job__Output): void {
  const values = job as unknown as Values;
  for (const field of Object.keys(values)) {
    const value = values[field];
    if (value !== undefined && value !== null) fields[field]?.(value, field);
  }
  if (job.task_id === '') taskIdCheck('', 'task_id');
  if (job.node_group === '') groupCheck('', 'node_group');
  checkTogether(job);
}

function checkTogether(job: Job | Job__Output): void {
  if (job.need_feedback && !job.submit_node_group) refuse('submit_node_group', job.submit_node_group ?? undefined, 'name the JobClient group that receives the result');
  planOf(job, 0);
}
