import { readFileSync } from 'node:fs';
import type { ValuesOf } from '../../shared/config/settings.js';
import { messageOf } from '../../shared/errors/lts-error.js';
import type { Job } from '../../shared/grpc/generated/lts/v1/Job.js';
import type { RetryPolicy } from '../../shared/grpc/generated/lts/v1/RetryPolicy.js';
import { newId } from '../../shared/ids.js';
import type { submitOptions } from './command-options.js';
import { firingFromOptions } from './firing-from-options.js';
import { given } from './given.js';
import { parseTime } from './parse-time.js';
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
    trigger_time: options.triggerTime === undefined ? undefined : parseTime('--trigger-time', options.triggerTime, nowMs),
    max_retry_times: options.maxRetryTimes,
    retry_policy: retryPolicyOf(options),
    need_feedback: options.needFeedback,
    submit_node_group: options.submitGroup,
    replace_on_exist: options.replace,
    execution_timeout: options.timeoutRun,
    on_worker_loss: options.onWorkerLoss === undefined ? undefined : losses[options.onWorkerLoss],
    max_lost: options.maxLost,
    ...firingFromOptions(options, nowMs),
    instance_id: options.instanceId ?? newId(),
  });
}

/** From name=value. */
export function paramsOf(params: readonly string[]): Record<string, string> {
  return Object.fromEntries(params.map((param) => [param.slice(0, param.indexOf('=')), param.slice(param.indexOf('=') + 1)]));
}
