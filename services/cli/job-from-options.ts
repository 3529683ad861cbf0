import { readFileSync } from 'node:fs';
import type { ValuesOf } from '../../shared/config/settings.js';
import { messageOf } from '../../shared/errors/lts-error.js';
import type { Job } from '../../shared/grpc/generated/lts/v1/Job.js';
import type { RetryPolicy } from '../../shared/grpc/generated/lts/v1/RetryPolicy.js';
import { newId } from '../../shared/ids.js';
import { parseDuration } from '../../shared/time/duration.js';
import type { submitOptions } from './command-options.js';
import { UsageError } from './usage-error.js';

/** The options of `lts job submit`. */
export type SubmitOptions = ValuesOf<typeof submitOptions>;

/** The content of a file, or of standard input for "-". */
export function readInput(path: string): Buffer {
  try {
    return readFileSync(path === '-' ? 0 : path);
  } catch (error) {
    throw new UsageError(`cannot read ${path === '-' ? 'standard input' : path}: ${messageOf(error)}`);
  }
}

/** "+5s" from now, ISO 8601, or milliseconds since 1970; in milliseconds. Throws UsageError. */
export function parseTime(value: string, nowMs: number): number {
  const delayMs = value.startsWith('+') ? parseDuration(value.slice(1)) : undefined;
  if (delayMs !== undefined) return nowMs + delayMs;
  if (/^\d{1,15}$/.test(value)) return Number(value);
  const time = /^\d{4}-\d\d-\d\d/.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(time)) throw new UsageError(`--trigger-time ${value} is not a time such as 2026-12-31T23:00:00Z, +5s, or milliseconds since 1970`);
  return time;
}

function payloadOf(options: SubmitOptions): Pick<Job, 'payload' | 'content_type'> {
  const given = [options.payload, options.payloadFile, options.json].filter((value) => value !== undefined);
  if (given.length > 1) throw new UsageError('give only one of --payload, --payload-file, --json');
  const contentType = options.contentType;
  if (options.json !== undefined) {
    try {
      JSON.parse(options.json);
    } catch (error) {
      throw new UsageError(`--json is not JSON: ${messageOf(error)}`);
    }
    return { payload: Buffer.from(options.json), content_type: contentType ?? 'application/json' };
  }
  if (options.payload !== undefined) return { payload: Buffer.from(options.payload), content_type: contentType ?? 'text/plain' };
  return {
    ...(options.payloadFile === undefined ? {} : { payload: readInput(options.payloadFile) }),
    ...(contentType === undefined ? {} : { content_type: contentType }),
  };
}

function retryPolicyOf({ retryDelay = [], retryMaxDelay }: SubmitOptions): RetryPolicy | undefined {
  const first = retryDelay[0];
  if (retryMaxDelay !== undefined) {
    if (retryDelay.length > 1) throw new UsageError('--retry-max-delay goes with one --retry-delay, not with a list');
    return { law: 'RETRY_LAW_EXPONENTIAL', ...(first === undefined ? {} : { delay: first }), max_delay: retryMaxDelay };
  }
  if (first === undefined) return undefined;
  return retryDelay.length === 1 ? { law: 'RETRY_LAW_FIXED', delay: first } : { law: 'RETRY_LAW_LIST', delays: retryDelay };
}

/** Only the fields that have a value: those left out get the server's defaults. */
function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** The job that the options describe. Throws UsageError. */
export function jobFromOptions(options: SubmitOptions, nowMs: number): Job {
  if (options.taskId === undefined || options.group === undefined) throw new UsageError('--task-id and --group are needed (or --file)');
  if (options.needFeedback === true && options.submitGroup === undefined) throw new UsageError('--need-feedback needs --submit-group');
  const losses = { requeue: 'ON_WORKER_LOSS_REQUEUE', fail: 'ON_WORKER_LOSS_FAIL' } as const;
  return given({
    task_id: options.taskId,
    node_group: options.group,
    type: options.type,
    ...payloadOf(options),
    ext_params: options.param === undefined ? undefined : paramsOf(options.param),
    priority: options.priority,
    trigger_time: options.triggerTime === undefined ? undefined : parseTime(options.triggerTime, nowMs),
    max_retry_times: options.maxRetryTimes,
    retry_policy: retryPolicyOf(options),
    need_feedback: options.needFeedback,
    submit_node_group: options.submitGroup,
    replace_on_exist: options.replace,
    execution_timeout: options.timeoutRun,
    on_worker_loss: options.onWorkerLoss === undefined ? undefined : losses[options.onWorkerLoss],
    max_lost: options.maxLost,
    instance_id: options.instanceId ?? newId(),
  });
}

function paramsOf(params: readonly string[]): Record<string, string> {
  return Object.fromEntries(params.map((param) => [param.slice(0, param.indexOf('=')), param.slice(param.indexOf('=') + 1)]));
}
