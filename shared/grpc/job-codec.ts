import { join } from 'node:path';
import protobuf from 'protobufjs';
import { packageRoot } from '../package-root.js';
import type { Job, Job__Output } from './generated/lts/v1/Job.js';

const root = new protobuf.Root();
root.loadSync(join(packageRoot, 'proto/lts/v1/job.proto'), { keepCase: true });
const jobType = root.lookupType('lts.v1.Job');
const output: protobuf.IConversionOptions = { longs: Number, enums: String, defaults: true };

/** The bytes of a job. Values are coerced silently: check them first. */
export function encodeJob(job: Job): Buffer {
  return jobType.encode(jobType.fromObject(job)).finish() as Buffer;
}

/** The job of its bytes; throws on bytes that are none. */
export function decodeJob(bytes: Uint8Array): Job__Output {
  return jobType.toObject(jobType.decode(bytes), output) as Job__Output;
}
