import { describe, expect, it } from 'vitest';
import { decodeJob, encodeJob } from '../../../shared/grpc/job-codec.js';
import { newId } from '../../../shared/ids.js';
import { fromBytes } from './pending-job.js';

const least = { task_id: 't', node_group: 'g' };
const sink = { settle: (): void => undefined };

describe('fromBytes', () => {
  it('passes bytes on as they are and reads what routes them', () => {
    const id = newId();
    const bytes = encodeJob({ ...least, instance_id: id, priority: 0, max_lost: 2, retry_policy: { law: 'RETRY_LAW_FIXED', delay: 5 } });
    expect(fromBytes(bytes, sink, 3)).toEqual({ bytes, nodeGroup: 'g', taskId: 't', instanceId: id, sink, index: 3, late: false });
  });

  it('gives an id to a job that has none, and keeps fields that it does not know', () => {
    const unknown = Buffer.from([0xfa, 0x3e, 2, 0x68, 0x69]);
    const pending = fromBytes(Buffer.concat([encodeJob(least), unknown]), sink, 0);
    expect(decodeJob(pending.bytes)).toMatchObject({ ...least, instance_id: pending.instanceId });
    expect(pending.instanceId).toMatch(/^[0-9a-f-]{36}$/);
    expect(pending.bytes.includes(unknown)).toBe(true);
  });

  it.each([
    ['no message', Buffer.from([0xff, 0xff, 0xff])],
    ['nothing', Buffer.alloc(0)],
    ['a bad value', encodeJob({ ...least, max_retry_times: 5_000 })],
    ['an unknown enum value', encodeJob({ ...least, on_worker_loss: 77 as 2 })],
    ['a number that is too large', encodeJob({ ...least, trigger_time: '9223372036854775807' })],
  ])('refuses %s', (_name, bytes) => {
    expect(() => fromBytes(bytes, sink, 0)).toThrow(expect.objectContaining({ reason: 'INVALID_ARGUMENT' }));
  });
});
