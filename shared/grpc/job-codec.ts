import { join } from 'node:path';
import protobuf from 'protobufjs';
import { packageRoot } from '../package-root.js';
import type { Job, Job__Output } from './generated/lts/v1/Job.js';

const root = new protobuf.Root();
root.loadSync(join(packageRoot, 'proto/lts/v1/job.proto'), { keepCase: true });
const jobType = root.lookupType('lts.v1.Job');
const given: protobuf.IConversionOptions = { longs: Number, enums: String };
const output: protobuf.IConversionOptions = { ...given, defaults: true };
const parts = jobType.fieldsArray.filter(({ resolvedType }) => resolvedType instanceof protobuf.Type).map(({ name }) => name);
/** A job of which nothing is given. */
const blank = jobType.toObject(jobType.create(), output) as Job__Output;

/** The bytes of a job. Values are coerced silently: check them first. */
export function encodeJob(job: Job): Buffer {
  return jobType.encode(jobType.fromObject(job)).finish() as Buffer;
}

/** The job of its bytes; throws on bytes that are none. */
export function decodeJob(bytes: Uint8Array): Job__Output {
  return jobType.toObject(jobType.decode(bytes), output) as Job__Output;
}

/**
 * The same for the way of a job, where most of its fields are never asked for: only those that are given are its own, the
 * others come from one blank job behind it. To be read, not to be listed, compared or changed.
 */
export function readGivenFields(bytes: Uint8Array): Job__Output {
  const message = jobType.decode(bytes);
  // Parts have defaults of their own.
  if (parts.some((part) => Object.hasOwn(message, part))) return jobType.toObject(message, output) as Job__Output;
  return Object.assign(Object.create(blank) as Job__Output, jobType.toObject(message, given));
}
