import { z } from 'zod';
import type { Job } from '../../shared/grpc/generated/lts/v1/Job.js';
import { newId } from '../../shared/ids.js';
import { UsageError } from './usage-error.js';

const int32 = z.int().min(-2_147_483_648).max(2_147_483_647);
const milliseconds = z.int().min(0);

/** Those that make a job a schedule. */
const firingFields = {
  cron_expression: z.string().optional(),
  cron_dialect: z.enum(['CRON_DIALECT_AUTO', 'CRON_DIALECT_UNIX', 'CRON_DIALECT_QUARTZ']).optional(),
  time_zone: z.string().optional(),
  dst_gap: z.enum(['DST_GAP_POLICY_SKIP', 'DST_GAP_POLICY_RUN_BEFORE', 'DST_GAP_POLICY_RUN_AFTER']).optional(),
  dst_overlap: z.enum(['DST_OVERLAP_POLICY_FIRST', 'DST_OVERLAP_POLICY_SECOND', 'DST_OVERLAP_POLICY_BOTH']).optional(),
  repeat_interval: milliseconds.optional(),
  repeat_count: int32.optional(),
  repeat_mode: z.enum(['REPEAT_MODE_FIXED_RATE', 'REPEAT_MODE_FIXED_DELAY']).optional(),
  rely_on_prev_cycle: z.boolean().optional(),
  misfire_policy: z
    .strictObject({
      action: z.enum(['MISFIRE_ACTION_SKIP', 'MISFIRE_ACTION_FIRE_ONCE', 'MISFIRE_ACTION_FIRE_ALL']).optional(),
      threshold: milliseconds.optional(),
      newest: int32.optional(),
      window: milliseconds.optional(),
    })
    .optional(),
  blocking_policy: z
    .strictObject({
      strategy: z.enum(['BLOCKING_STRATEGY_SERIAL', 'BLOCKING_STRATEGY_DISCARD_LATER', 'BLOCKING_STRATEGY_COVER_EARLY', 'BLOCKING_STRATEGY_CONCURRENT']).optional(),
      limit: int32.optional(),
    })
    .optional(),
  start_time: milliseconds.optional(),
  end_time: milliseconds.optional(),
  daily_window: z.strictObject({ from: z.string(), to: z.string(), weekdays: z.array(z.int()).optional() }).optional(),
};

/** The fields of lts.v1.Job as JSON. Beside payload (base64) the payload may be payload_text or payload_json. */
const jobSchema = z.strictObject({
  task_id: z.string(),
  node_group: z.string(),
  type: z.string().optional(),
  payload: z.base64().optional(),
  payload_text: z.string().optional(),
  payload_json: z.json().optional(),
  content_type: z.string().optional(),
  ext_params: z.record(z.string(), z.string()).optional(),
  priority: int32.optional(),
  trigger_time: milliseconds.optional(),
  max_retry_times: int32.optional(),
  retry_policy: z
    .strictObject({
      law: z.enum(['RETRY_LAW_FIXED', 'RETRY_LAW_EXPONENTIAL', 'RETRY_LAW_LIST']).optional(),
      delay: milliseconds.optional(),
      max_delay: milliseconds.optional(),
      delays: z.array(milliseconds).optional(),
    })
    .optional(),
  need_feedback: z.boolean().optional(),
  submit_node_group: z.string().optional(),
  replace_on_exist: z.boolean().optional(),
  execution_timeout: milliseconds.optional(),
  on_worker_loss: z.enum(['ON_WORKER_LOSS_REQUEUE', 'ON_WORKER_LOSS_FAIL']).optional(),
  max_lost: int32.optional(),
  ...firingFields,
  instance_id: z.string().optional(),
});

function jobFromLine(line: string, number: number): Job {
  let raw: unknown;
  try {
    raw = JSON.parse(line);
  } catch {
    throw new UsageError(`line ${number} is not JSON: ${line.slice(0, 80)}`);
  }
  const parsed = jobSchema.safeParse(raw);
  if (!parsed.success) {
    const issues = parsed.error.issues.map((issue) => `${issue.path.join('.')}${issue.path.length > 0 ? ': ' : ''}${issue.message}`);
    throw new UsageError(`line ${number} is not a job: ${issues.join('; ')}`);
  }
  const { payload, payload_text: text, payload_json: json, ...fields } = parsed.data;
  if ([payload, text, json].filter((value) => value !== undefined).length > 1) throw new UsageError(`line ${number} has more than one payload`);
  const job = { ...fields, instance_id: fields.instance_id ?? newId() } as Job;
  if (payload !== undefined) job.payload = Buffer.from(payload, 'base64');
  if (text !== undefined) Object.assign(job, { payload: Buffer.from(text), content_type: job.content_type ?? 'text/plain' });
  if (json !== undefined) Object.assign(job, { payload: Buffer.from(JSON.stringify(json)), content_type: job.content_type ?? 'application/json' });
  return job;
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
