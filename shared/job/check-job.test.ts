import { describe, expect, it } from 'vitest';
import { LtsError } from '../errors/lts-error.js';
import { decodeJob, encodeJob } from '../grpc/job-codec.js';
import { newId } from '../ids.js';
import { checkJob } from './check-job.js';

const least = { task_id: 't', node_group: 'g' };

function errorOf(work: () => unknown): LtsError {
  try {
    work();
  } catch (error) {
    if (error instanceof LtsError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

/** A value that must be refused, with what the message must name. */
const refused: [name: string, job: unknown, ...words: string[]][] = [
  ['no object', 'job', 'the job is "job"'],
  ['null', null, 'the job is null'],
  ['a list', [least], 'the job is a list of 1'],
  ['no task_id', { node_group: 'g' }, 'task_id is undefined', 'required'],
  ['no node_group', { task_id: 't' }, 'node_group is undefined', 'required'],
  ['an empty task_id', { ...least, task_id: '' }, 'task_id is ""'],
  ['a number as task_id', { ...least, task_id: 7 }, 'task_id is 7'],
  ['a long task_id', { ...least, task_id: 'x'.repeat(129) }, 'task_id is "xxx'],
  ['a space at the end of task_id', { ...least, task_id: 'x ' }, 'task_id is "x "'],
  ['a NUL in task_id', { ...least, task_id: 'a\0b' }, 'task_id'],
  ['a space in node_group', { ...least, node_group: 'a b' }, 'node_group is "a b"'],
  ['a long node_group', { ...least, node_group: 'x'.repeat(65) }, 'node_group'],
  ['a misspelt field', { ...least, taskId: 'x' }, 'taskId is "x"', 'no such field', 'task_id'],
  ['a field of Object.prototype', { ...least, toString: 1 }, 'toString', 'no such field'],
  ['a long type', { ...least, type: 'x'.repeat(129) }, 'type'],
  ['a NUL in type', { ...least, type: 'a\0' }, 'type', 'NUL'],
  ['an object as payload', { ...least, payload: { a: 1 } }, 'payload is an object', 'JSON.stringify'],
  ['a large payload', { ...least, payload: Buffer.alloc(1024 * 1024 + 1) }, 'payload', '1048577 bytes'],
  ['a large text as payload', { ...least, payload: 'ä'.repeat(600_000) }, 'payload', '1200000 bytes'],
  ['a text as priority', { ...least, priority: '5' }, 'priority is "5"', 'whole number'],
  ['a fraction as priority', { ...least, priority: 1.5 }, 'priority is 1.5'],
  ['a priority beyond 32 bits', { ...least, priority: 2 ** 31 }, 'priority is 2147483648'],
  ['NaN as trigger_time', { ...least, trigger_time: Number.NaN }, 'trigger_time is NaN'],
  ['a text as trigger_time', { ...least, trigger_time: '2030-01-01' }, 'trigger_time is "2030-01-01"', 'Date'],
  ['an invalid Date', { ...least, trigger_time: new Date('x') }, 'trigger_time'],
  ['a negative trigger_time', { ...least, trigger_time: -1 }, 'trigger_time is -1'],
  ['an inexact trigger_time', { ...least, trigger_time: 2 ** 53 }, 'trigger_time'],
  ['a trigger_time after the year 9999', { ...least, trigger_time: 253_402_300_800_000 }, 'trigger_time is 253402300800000', 'at most 253402300799999', '9999'],
  ['a Date after the year 9999', { ...least, trigger_time: new Date(8_640_000_000_000_000) }, 'trigger_time', '9999'],
  ['a start_time that no Date can show', { ...least, cron_expression: '@daily', start_time: 8_640_000_000_000_000 }, 'start_time is 8640000000000000', '9999'],
  ['an end_time that no Date can show', { ...least, cron_expression: '@daily', end_time: 8_640_000_000_000_001 }, 'end_time is 8640000000000001', '9999'],
  ['a bigint', { ...least, trigger_time: 5n }, 'trigger_time is 5n'],
  ['too many retries', { ...least, max_retry_times: 1_001 }, 'max_retry_times is 1001', '1000'],
  ['negative retries', { ...least, max_retry_times: -1 }, 'max_retry_times is -1'],
  ['a text as flag', { ...least, need_feedback: 'false' }, 'need_feedback is "false"', 'true or false'],
  ['a number as flag', { ...least, replace_on_exist: 1 }, 'replace_on_exist is 1'],
  ['feedback to nobody', { ...least, need_feedback: true }, 'submit_node_group'],
  ['a bad submit_node_group', { ...least, submit_node_group: 'ä' }, 'submit_node_group is "ä"'],
  ['a negative execution_timeout', { ...least, execution_timeout: -5 }, 'execution_timeout is -5'],
  ['an unknown on_worker_loss', { ...least, on_worker_loss: 'RETRY' }, 'on_worker_loss is "RETRY"', 'REQUEUE, FAIL'],
  ['a number as on_worker_loss', { ...least, on_worker_loss: 2 }, 'on_worker_loss is 2'],
  ['max_lost of 0', { ...least, max_lost: 0 }, 'max_lost is 0'],
  ['another kind of UUID', { ...least, instance_id: '7f0c1f6e-8b3a-4d2e-9c1a-0123456789ab' }, 'instance_id', 'UUIDv7'],
  ['an upper-case id', { ...least, instance_id: newId().toUpperCase().replace(/^./, 'A') }, 'instance_id'],
  ['ext_params of a list', { ...least, ext_params: ['a'] }, 'ext_params is a list of 1'],
  ['a number in ext_params', { ...least, ext_params: { a: 1 } }, 'ext_params.a is 1', 'text'],
  ['too many ext_params', { ...least, ext_params: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [i, ''])) }, '65 entries'],
  ['a long key', { ...least, ext_params: { ['k'.repeat(129)]: '' } }, 'ext_params key', '128 bytes'],
  ['a long value', { ...least, ext_params: { a: 'v'.repeat(8_193) } }, 'ext_params.a', '8,192 bytes'],
  ['a retry policy of a text', { ...least, retry_policy: 'FIXED' }, 'retry_policy is "FIXED"'],
  ['an unknown law', { ...least, retry_policy: { law: 'LINEAR' } }, 'retry_policy.law is "LINEAR"'],
  ['a misspelt field in retry_policy', { ...least, retry_policy: { dealy: 1 } }, 'retry_policy.dealy', 'delay'],
  ['a fraction as delay', { ...least, retry_policy: { delay: 0.5 } }, 'retry_policy.delay is 0.5'],
  ['LIST without delays', { ...least, retry_policy: { law: 'LIST' } }, 'retry_policy.delays', 'LIST'],
  ['too many delays', { ...least, retry_policy: { law: 'LIST', delays: Array.from({ length: 101 }, () => 1) } }, 'retry_policy.delays is a list of 101'],
  ['a text in delays', { ...least, retry_policy: { law: 'LIST', delays: [1, '2'] } }, 'retry_policy.delays[1] is "2"'],
];

describe('checkJob', () => {
  it.each(refused)('refuses %s', (_name, job, ...words) => {
    const error = errorOf(() => checkJob(job));
    expect(error.reason).toBe('INVALID_ARGUMENT');
    for (const word of words) expect(error.message).toContain(word);
    expect(error.message.length).toBeLessThan(600);
  });

  it('takes what the limits allow, and it serialises as it was meant', () => {
    const id = newId();
    const at = new Date('2030-01-01T00:00:00Z');
    const checked = checkJob({
      task_id: `a b${'x'.repeat(124)}:`,
      node_group: 'g',
      payload: 'grüße',
      ext_params: { key: 'value', empty: '' },
      priority: -(2 ** 31),
      trigger_time: at,
      max_retry_times: 1_000,
      retry_policy: { law: 'LIST', delays: [0, 5] },
      need_feedback: true,
      submit_node_group: 'shop',
      replace_on_exist: true,
      execution_timeout: 0,
      on_worker_loss: 'FAIL',
      max_lost: 1,
      instance_id: id,
      type: undefined,
      content_type: null,
    });
    const job = decodeJob(encodeJob(checked));
    expect(job).toMatchObject({
      priority: -(2 ** 31),
      trigger_time: at.getTime(),
      max_retry_times: 1_000,
      need_feedback: true,
      submit_node_group: 'shop',
      on_worker_loss: 'ON_WORKER_LOSS_FAIL',
      max_lost: 1,
      instance_id: id,
      ext_params: { key: 'value', empty: '' },
    });
    expect(job.retry_policy).toMatchObject({ law: 'RETRY_LAW_LIST', delays: [0, 5] });
    expect(job.payload.toString()).toBe('grüße');
  });

  it('names the client\'s own group for feedback, and does not change its input', () => {
    const job = { ...least, need_feedback: true };
    expect(checkJob(job, 'shop').submit_node_group).toBe('shop');
    expect(checkJob({ ...job, submit_node_group: 'other' }, 'shop').submit_node_group).toBe('other');
    expect(job).toEqual({ ...least, need_feedback: true });
  });
});
