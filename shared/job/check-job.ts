import { LtsError } from '../errors/lts-error.js';
import type { Job } from '../grpc/generated/lts/v1/Job.js';
import type { RetryPolicy } from '../grpc/generated/lts/v1/RetryPolicy.js';
import { isId } from '../ids.js';

/*
 * Protobuf coerces silently ("5" becomes 5, 1.5 becomes 1, an unknown field vanishes): values are checked before they
 * are serialised, against the limits that job.proto states. The tracker checks the limits again.
 */

const longestMs = 366 * 86_400_000;
const int32 = 2 ** 31;
export const taskIdForm = /^[A-Za-z0-9._:/@+=,-](?:[A-Za-z0-9._:/@+=, -]{0,126}[A-Za-z0-9._:/@+=,-])?$/;
export const groupForm = /^[A-Za-z0-9._:-]{1,64}$/;
const laws = ['FIXED', 'EXPONENTIAL', 'LIST'];
const losses = ['REQUEUE', 'FAIL'];
const maxPayloadBytes = 1024 * 1024;

type Values = Record<string, unknown>;
type FieldCheck = (value: unknown, field: string) => unknown;

function refuse(field: string, value: unknown, rule: string): never {
  throw new LtsError('INVALID_ARGUMENT', `${field} is ${show(value)}; ${rule}`);
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value !== 'object' || value === null) return String(value);
  const kind = value.constructor?.name ?? 'Object';
  return kind === 'Object' ? 'an object' : `a ${kind}`;
}

function whole(least: number, most: number, unit: string): FieldCheck {
  return (value, field) => {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    return refuse(field, value, `give a whole number from ${least} to ${most}${unit}`);
  };
}

const milliseconds = whole(0, longestMs, ' (milliseconds)');

function flag(value: unknown, field: string): unknown {
  return typeof value === 'boolean' ? value : refuse(field, value, 'give true or false');
}

function formed(form: RegExp, rule: string, emptyAllowed: boolean): FieldCheck {
  return (value, field) => (typeof value === 'string' && (form.test(value) || (emptyAllowed && value === '')) ? value : refuse(field, value, rule));
}

function shortText(value: unknown, field: string): unknown {
  if (typeof value === 'string' && value.length <= 128 && !value.includes('\0')) return value;
  return refuse(field, value, 'give a text of at most 128 characters without NUL');
}

function payload(value: unknown, field: string): unknown {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
  if (!(bytes instanceof Uint8Array)) return refuse(field, value, 'give a Uint8Array, a Buffer or a text; make JSON with JSON.stringify');
  if (bytes.length > maxPayloadBytes) refuse(field, `${bytes.length} bytes long`, 'at most 1 MiB; store it elsewhere and submit where it lies');
  return bytes;
}

function params(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse(field, value, 'give an object with texts as values');
  const entries = Object.entries(value);
  if (entries.length > 64) refuse(field, `${entries.length} entries`, 'at most 64; put more into the payload');
  for (const [name, text] of entries) {
    if (Buffer.byteLength(name) > 128 || name.includes('\0')) refuse(`the ${field} key`, name, 'at most 128 bytes without NUL');
    if (typeof text !== 'string') return refuse(`${field}.${name}`, text, 'give a text');
    if (Buffer.byteLength(text) > 8_192 || text.includes('\0')) refuse(`${field}.${name}`, text, 'at most 8,192 bytes without NUL');
  }
  return value;
}

function time(value: unknown, field: string): unknown {
  const ms = value instanceof Date ? value.getTime() : value;
  if (typeof ms === 'number' && Number.isSafeInteger(ms) && ms >= 0) return ms;
  return refuse(field, value, 'give milliseconds since 1970 UTC, or a Date');
}

/** Names of the contract with or without their prefix; numbers are for other languages. */
function oneOf(names: readonly string[], prefix: string): FieldCheck {
  const full = new Map([...names, 'UNSPECIFIED'].flatMap((name) => [[name, prefix + name], [prefix + name, prefix + name]] as const));
  return (value, field) => (typeof value === 'string' ? full.get(value) : undefined) ?? refuse(field, value, `give one of ${names.join(', ')}`);
}

function delays(value: unknown, field: string): unknown {
  if (!Array.isArray(value) || value.length > 100) return refuse(field, value, 'give a list of at most 100 delays');
  value.forEach((delay, index) => milliseconds(delay, `${field}[${index}]`));
  return value;
}

const retryFields: Record<string, FieldCheck> = { law: oneOf(laws, 'RETRY_LAW_'), delay: milliseconds, max_delay: milliseconds, delays };

function retryPolicy(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse(field, value, 'give an object');
  const policy = checkFields(value as Values, retryFields, `${field}.`) as RetryPolicy;
  if (policy.law === 'RETRY_LAW_LIST' && (policy.delays ?? []).length === 0) refuse(`${field}.delays`, policy.delays, 'the law LIST needs 1 to 100 delays');
  return policy;
}

const groupRule = 'give 1 to 64 of the characters A-Z a-z 0-9 . _ : -';

const fields: Record<string, FieldCheck> = {
  task_id: formed(taskIdForm, 'give 1 to 128 of the characters A-Z a-z 0-9 . _ : / @ + = , - and space inside', false),
  node_group: formed(groupForm, groupRule, false),
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
  instance_id: (value, field) => (typeof value === 'string' && (value === '' || isId(value)) ? value : refuse(field, value, 'give a UUIDv7 in lower case, or leave it out')),
};

function checkFields(values: Values, checks: Record<string, FieldCheck>, prefix: string): Values {
  const checked: Values = {};
  for (const name in values) {
    const value = values[name];
    if (value === undefined || value === null) continue;
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (check === undefined) return refuse(prefix + name, value, `there is no such field; there are ${Object.keys(checks).join(', ')}`);
    checked[name] = check(value, prefix + name);
  }
  return checked;
}

/**
 * The job with values that serialise as they were meant. Throws INVALID_ARGUMENT with the field, its value and the rule.
 * `submitNodeGroup`: receives the result when the job needs feedback and names no group.
 */
export function checkJob(job: unknown, submitNodeGroup = ''): Job {
  if (typeof job !== 'object' || job === null || Array.isArray(job)) return refuse('the job', job, 'give an object');
  const checked = checkFields(job as Values, fields, '') as Job;
  if (checked.task_id === undefined) refuse('task_id', undefined, 'it is required');
  if (checked.node_group === undefined) refuse('node_group', undefined, 'it is required');
  if (checked.need_feedback && !checked.submit_node_group) {
    if (submitNodeGroup === '') refuse('submit_node_group', checked.submit_node_group ?? undefined, 'name the JobClient group that receives the result');
    checked.submit_node_group = submitNodeGroup;
  }
  return checked;
}
