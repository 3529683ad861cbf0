import type { ListSchedulesRequest } from '../grpc/generated/lts/v1/ListSchedulesRequest.js';
import type { PreviewScheduleRequest } from '../grpc/generated/lts/v1/PreviewScheduleRequest.js';
import type { TriggerScheduleRequest } from '../grpc/generated/lts/v1/TriggerScheduleRequest.js';
import { groupCheck, instanceIdCheck, taskIdCheck } from './check-job.js';
import { scheduleFields } from './check-schedule.js';
import { checkFields, type FieldCheck, formed, oneOf, params, payload, refuse, time, type Values, whole } from './field-checks.js';

/** Which schedule: its group and its task. */
export interface ScheduleName {
  node_group: string;
  task_id: string;
}

const name = { node_group: groupCheck, task_id: taskIdCheck };
const { cron_dialect, time_zone, dst_gap, dst_overlap } = scheduleFields as Record<keyof typeof scheduleFields, FieldCheck>;

const triggerFields: Record<string, FieldCheck> = {
  ...name,
  instance_id: instanceIdCheck,
  ext_params: params,
  payload,
  scheduled_time: time,
};

const previewFields = {
  cron_expression: formed(/^[\x20-\x7e]{1,256}$/, 'give a cron expression of at most 256 printable ASCII characters', false),
  cron_dialect,
  time_zone,
  dst_gap,
  dst_overlap,
  from: time,
  count: whole(0, 1_000, ' (0 is 10)'),
} as Record<string, FieldCheck>;

const listFields: Record<string, FieldCheck> = {
  node_group: (value, field) => (value === '' ? value : groupCheck(value, field)),
  state: oneOf(['ACTIVE', 'SUSPENDED'], 'SCHEDULE_STATE_'),
  page_size: whole(0, 1_000, ' (0 is 100)'),
  page_token: (value, field) => (typeof value === 'string' ? value : refuse(field, value, 'give next_page_token of the page before')),
};

/*
 * Requests of ScheduleService with values that serialise as they were meant. Each check throws INVALID_ARGUMENT with
 * the field, its value and the rule.
 */

export function checkScheduleName(request: unknown): ScheduleName {
  return named(checked(request, name));
}

export function checkTrigger(request: unknown): ScheduleName & TriggerScheduleRequest {
  return named(checked(request, triggerFields));
}

export function checkPreview(request: unknown): PreviewScheduleRequest {
  const values: PreviewScheduleRequest = checked(request, previewFields);
  if (values.cron_expression === undefined) refuse('cron_expression', undefined, 'it is required');
  return values;
}

export function checkScheduleList(request: unknown): ListSchedulesRequest {
  return checked(request, listFields);
}

function checked(request: unknown, fields: Record<string, FieldCheck>): Values {
  if (typeof request !== 'object' || request === null || Array.isArray(request)) return refuse('the request', request, 'give an object');
  return checkFields(request as Values, fields, '');
}

function named(values: Values): ScheduleName {
  if (values['task_id'] === undefined) refuse('task_id', undefined, 'it is required');
  if (values['node_group'] === undefined) refuse('node_group', undefined, 'it is required');
  return values as unknown as ScheduleName;
}
