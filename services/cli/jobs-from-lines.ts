import { LtsError } from '../../shared/errors/lts-error.js';
import type { Job } from '../../shared/grpc/generated/lts/v1/Job.js';
import { newId } from '../../shared/ids.js';
import { checkJob } from '../../shared/job/check-job.js';
import { UsageError } from './usage-error.js';

const base64Form = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The fields of lts.v1.Job as JSON. Beside payload (base64) the payload may be payload_text or payload_json. */
function jobFromLine(line: string, number: number): Job {
  let raw: unknown;
  try {
    raw = JSON.parse(line);
  } catch {
    throw new UsageError(`line ${number} is not JSON: ${line.slice(0, 80)}`);
  }
  try {
    const job = checkJob(typeof raw === 'object' && raw !== null && !Array.isArray(raw) ? withPayload(raw) : raw);
    return { ...job, instance_id: job.instance_id || newId() };
  } catch (error) {
    if (!(error instanceof LtsError)) throw error;
    throw new UsageError(`line ${number} is not a job: ${error.message}`);
  }
}

interface PayloadForms {
  payload?: unknown;
  payload_text?: unknown;
  payload_json?: unknown;
  content_type?: unknown;
}

/** With the payload as bytes or text, whichever of its forms is given. Throws INVALID_ARGUMENT. */
function withPayload({ payload, payload_text: text, payload_json: json, ...fields }: PayloadForms): object {
  if ([payload, text, json].filter((value) => value !== undefined).length > 1) throw new LtsError('INVALID_ARGUMENT', 'it has more than one payload; give one of payload, payload_text, payload_json');
  if (json !== undefined) return { ...fields, payload: JSON.stringify(json), content_type: fields.content_type ?? 'application/json' };
  if (text !== undefined) {
    if (typeof text !== 'string') throw new LtsError('INVALID_ARGUMENT', 'payload_text is no text; give JSON as payload_json');
    return { ...fields, payload: text, content_type: fields.content_type ?? 'text/plain' };
  }
  if (payload === undefined) return fields;
  if (typeof payload !== 'string' || !base64Form.test(payload)) throw new LtsError('INVALID_ARGUMENT', 'payload is not base64; give plain text as payload_text');
  return { ...fields, payload: Buffer.from(payload, 'base64') };
}

const mostProblems = 20;

/** One job per line; empty lines are left out. Throws UsageError with the numbers of the bad lines, at most 20. */
export function jobsFromLines(content: string): Job[] {
  const jobs: Job[] = [];
  const problems: string[] = [];
  for (const [index, line] of content.split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      jobs.push(jobFromLine(line, index + 1));
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      problems.push(error.message);
    }
  }
  const more = problems.length - mostProblems;
  if (problems.length > 0) throw new UsageError([...problems.slice(0, mostProblems), ...(more > 0 ? [`and ${more} more`] : [])].join('\n'));
  return jobs;
}

/** Batches that one call may carry: at most 1,000 jobs, and well below 4 MiB. */
export function intoBatches(jobs: readonly Job[]): Job[][] {
  const mostBytes = 3 * 1024 * 1024;
  const batches: Job[][] = [];
  let bytes = 0;
  for (const job of jobs) {
    const size = 1_024 + (job.payload as Uint8Array | undefined ?? []).length + JSON.stringify(job.ext_params ?? {}).length;
    let last = batches.at(-1);
    if (last === undefined || last.length >= 1_000 || bytes + size > mostBytes) {
      last = [];
      bytes = 0;
      batches.push(last);
    }
    last.push(job);
    bytes += size;
  }
  return batches;
}
