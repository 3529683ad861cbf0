import { afterEach, describe, expect, it } from 'vitest';
import { newId } from '../../shared/ids.js';
import { Caller } from '../interop/caller.js';
import { WorkStream } from '../interop/malformed/work-stream.js';
import { eventually } from '../kit/eventually.js';
import { Cluster } from './cluster.js';

const failures = 1_000;
const slots = 10;

describe('a thousand tasks are sent to a worker whose connection breaks each time', () => {
  let cluster: Cluster;
  let caller: Caller;

  afterEach(async () => {
    caller.close();
    await cluster.stop();
  });

  it('no slot and no place under the limit of the group is lost on the way', async () => {
    cluster = await Cluster.start({ graceMs: 60_000 });
    const { address, admin } = cluster.tracker('a');
    caller = new Caller(address);
    const worker = { group: 'g', nodeId: 'w1', incarnation: newId() };
    await caller.call('AdminService/SetGroupLimits', { node_group: 'g', limits: { max_running: slots } });
    const submit = (count: number, from: number): Promise<unknown> => caller.call('JobService/SubmitJobs', { jobs: Array.from({ length: count }, (_, i) => ({ task_id: `t-${from + i}`, node_group: 'g' })) });
    await submit(1, 0);
    for (let failed = 0; failed < failures; failed++) {
      // It has provably not begun: the same attempt comes again on the next stream.
      const stream = await new WorkStream(caller, worker).join(slots);
      expect((await stream.task()).attempt).toBe(1);
      stream.cancel();
    }

    const stream = await new WorkStream(caller, worker).join(slots);
    await submit(slots + 5, 1);
    await eventually(() => stream.tasks.length === slots, { what: 'as many tasks as slots' });
    expect(await admin.queues()).toMatchObject([{ executing: slots, ready: 6 }]);
    const done = new Set<string>();
    const finish = async (): Promise<boolean> => {
      const open = stream.tasks.filter(({ instance_id: id }) => !done.has(id));
      if (open.length === 0) return done.size === slots + 6;
      expect(open.length).toBeLessThanOrEqual(slots);
      for (const { instance_id: id } of open) done.add(id);
      expect(await stream.report(...open.map(({ instance_id, attempt }) => ({ instance_id, attempt, incarnation: worker.incarnation, outcome: 'ATTEMPT_OUTCOME_SUCCESS' })))).toEqual([]);
      // All grants of this stream, not the new ones alone.
      stream.send({ slots: { granted: slots + done.size } });
      return false;
    };
    await eventually(finish, { what: 'all have run' });
    expect((await admin.instances()).filter(({ state, attempt }) => state !== 'INSTANCE_STATE_SUCCEEDED' || attempt !== 1)).toEqual([]);
    await stream.goodbye();
  });
});
