import { describe, expect, it } from 'vitest';
import type { LtsError } from '../../../shared/errors/lts-error.js';
import type { Job } from '../../../shared/grpc/generated/lts/v1/Job.js';
import { decodeJob, encodeJob } from '../../../shared/grpc/job-codec.js';
import { newId } from '../../../shared/ids.js';
import { checkJob, policyOf } from './check-job.js';

const now = 1_800_000_000_000;
const day = 86_400_000;
const check = (more: Job): void => checkJob(decodeJob(encodeJob({ task_id: 't', node_group: 'g', ...more })), now, 7 * day);

const bad: [string, Job, RegExp][] = [
  ['no task', { task_id: '' }, /task_id is ""/],
  ['a control character in the task', { task_id: 'a\nb' }, /task_id is "a\\nb"/],
  ['a long task', { task_id: 'x'.repeat(129) }, /task_id/],
  ['a path as the group', { node_group: '../x' }, /node_group is "..\/x"/],
  ['feedback without a group', { need_feedback: true }, /submit_node_group/],
  ['a large payload', { payload: Buffer.alloc(1024 * 1024 + 1) }, /payload is 1048577 bytes long/],
  ['a NUL in the type', { type: 'a\0' }, /type.*NUL/],
  ['many parameters', { ext_params: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, 'v'])) }, /65 entries/],
  ['a large parameter', { ext_params: { k: 'x'.repeat(8_193) } }, /ext_params\[k\]/],
  ['negative retries', { max_retry_times: -1 }, /max_retry_times is -1/],
  ['a negative time-out', { execution_timeout: -5 }, /execution_timeout is -5/],
  ['no loss allowed', { max_lost: 0 }, /max_lost is 0/],
  ['an empty list law', { retry_policy: { law: 'RETRY_LAW_LIST' } }, /delays is 0 entries/],
  ['no UUIDv7', { instance_id: 'abc' }, /instance_id is "abc"/],
  ['an id of the future', { instance_id: newId(now + 2 * day) }, /in the future/],
];

describe('checkJob', () => {
  it.each(bad)('refuses %s and says what is wrong', (_name, job, message) => {
    expect(() => check(job)).toThrowError(message);
    try {
      check(job);
    } catch (error) {
      expect((error as LtsError).reason).toBe('INVALID_ARGUMENT');
    }
  });

  it('takes what is within the limits', () => {
    expect(() => check({ task_id: 'bill/2026-11:a@b,c=d+e f', payload: Buffer.alloc(1024 * 1024), max_retry_times: 1_000, type: 'mail', ext_params: { k: 'v' } })).not.toThrow();
  });

  it('knows the defaults', () => {
    expect(policyOf(decodeJob(encodeJob({ task_id: 't', node_group: 'g' })))).toEqual({ maxRetryTimes: 0, timeoutMs: 0, maxLost: 3, failOnLoss: false });
  });
});
