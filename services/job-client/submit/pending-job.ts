import { LtsError } from '../../../shared/errors/lts-error.js';
import type { Job__Output } from '../../../shared/grpc/generated/lts/v1/Job.js';
import type { SubmitResult } from '../../../shared/grpc/generated/lts/v1/SubmitResult.js';
import { decodeJob, encodeJob } from '../../../shared/grpc/job-codec.js';
import { newId } from '../../../shared/ids.js';
import { checkJob } from './check-job.js';

/** Takes the results of one call of the caller; a job is known to it by its place. */
export interface ResultSink {
  settle(index: number, result: SubmitResult): void;
}

/** One job on its way: its bytes and what is needed to route and to answer it. */
export interface PendingJob {
  readonly bytes: Buffer;
  readonly nodeGroup: string;
  readonly taskId: string;
  readonly instanceId: string;
  readonly sink: ResultSink;
  readonly index: number;
  /** It comes out of a FailStore: it must not replace what was submitted after it. */
  readonly late: boolean;
}

/** A checked job of this language, made into bytes. Throws INVALID_ARGUMENT. */
export function fromValues(job: unknown, submitNodeGroup: string, sink: ResultSink, index: number): PendingJob {
  const checked = checkJob(job, submitNodeGroup);
  if (!checked.instance_id) checked.instance_id = newId();
  const { node_group: nodeGroup = '', task_id: taskId = '', instance_id: instanceId } = checked;
  return { bytes: encodeJob(checked), nodeGroup, taskId, instanceId, sink, index, late: false };
}

/** A job that came as bytes, checked; it passes on as it is, with fields that this version does not know. Throws INVALID_ARGUMENT. */
export function fromBytes(bytes: Buffer, sink: ResultSink, index: number, late = false): PendingJob {
  const { _priority, _max_lost, ...job } = decode(bytes);
  const checked = checkJob(job.retry_policy === null ? job : { ...job, retry_policy: plain(job.retry_policy) });
  const { node_group: nodeGroup = '', task_id: taskId = '' } = checked;
  if (checked.instance_id) return { bytes, nodeGroup, taskId, instanceId: checked.instance_id, sink, index, late };
  const instanceId = newId();
  return { bytes: withInstanceId(bytes, instanceId), nodeGroup, taskId, instanceId, sink, index, late };
}

function decode(bytes: Buffer): Job__Output {
  try {
    return decodeJob(bytes);
  } catch (error) {
    throw new LtsError('INVALID_ARGUMENT', 'the job is not a readable lts.v1.Job; generate the client from proto/lts/v1', { cause: error });
  }
}

function plain(policy: NonNullable<Job__Output['retry_policy']>): object {
  const { law, delay, max_delay, delays } = policy;
  return { law, delay, max_delay, delays };
}

/** Field 17, length-delimited, 36 bytes: appending a field to a message sets it. */
const instanceIdTag = Buffer.from([0x8a, 0x01, 36]);

function withInstanceId(bytes: Buffer, instanceId: string): Buffer {
  return Buffer.concat([bytes, instanceIdTag, Buffer.from(instanceId, 'latin1')]);
}

/** What entries of one job are queued behind: its group and its task. */
export function keyOf(nodeGroup: string, taskId: string): string {
  return `${nodeGroup}\n${taskId}`;
}
