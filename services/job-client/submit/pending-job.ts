import type { SubmitResult } from '../../../shared/grpc/generated/lts/v1/SubmitResult.js';
import { encodeJob } from '../../../shared/grpc/job-codec.js';
import { newId } from '../../../shared/ids.js';
import { checkJob } from '../../../shared/job/check-job.js';
import { readJob } from '../../../shared/job/read-job.js';

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
  const { node_group: nodeGroup, task_id: taskId, instance_id: sent } = readJob(bytes);
  if (sent !== '') return { bytes, nodeGroup, taskId, instanceId: sent, sink, index, late };
  const instanceId = newId();
  return { bytes: withInstanceId(bytes, instanceId), nodeGroup, taskId, instanceId, sink, index, late };
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
