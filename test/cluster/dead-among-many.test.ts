import { afterEach, describe, expect, it } from 'vitest';
import { Caller } from '../interop/caller.js';
import { WorkStream } from '../interop/malformed/work-stream.js';
import { eventually } from '../kit/eventually.js';
import { Cluster } from './cluster.js';

const graceMs = 2_000;
const long = 20_000;
const dead = 10;

describe('a few runs of a dead worker are among 20,000 long ones of living workers', () => {
  let cluster: Cluster;
  let caller: Caller;

  afterEach(async () => {
    caller.close();
    await cluster.stop();
  });

  const submit = async (name: string, count: number): Promise<void> => {
    for (let from = 0; from < count; from += 1_000) {
      const jobs = Array.from({ length: Math.min(1_000, count - from) }, (_, i) => ({ task_id: `${name}-${from + i}`, node_group: 'g', max_lost: 10 }));
      await caller.call('JobService/SubmitJobs', { jobs });
    }
  };

  it('the dead ones are rescued, however many live ones stand before them', async () => {
    cluster = await Cluster.start({ graceMs });
    const { address, admin } = cluster.tracker('a');
    caller = new Caller(address);
    const living = await Promise.all(['w1', 'w2'].map((nodeId) => new WorkStream(caller, { group: 'g', nodeId }).join(long / 2)));
    await submit('long', long);
    await eventually(() => living.reduce((sum, { tasks }) => sum + tasks.length, 0) === long, { withinMs: 30_000, what: 'the long ones run' });
    const dying = await new WorkStream(caller, { group: 'g', nodeId: 'w3' }).join(dead);
    await submit('dead', dead);
    await eventually(() => dying.tasks.length === dead, { what: 'the others run on the third worker' });
    dying.cancel();

    const rescuer = await new WorkStream(caller, { group: 'g', nodeId: 'w4' }).join(100);
    await eventually(() => rescuer.tasks.length === dead, { withinMs: graceMs + 5_000, what: 'they are given to the fourth' });
    expect(new Map(rescuer.tasks.map(({ instance_id, attempt }) => [instance_id, attempt]))).toEqual(new Map(dying.tasks.map(({ instance_id }) => [instance_id, 2])));
    expect(await admin.queues()).toMatchObject([{ executing: long + dead, ready: 0 }]);
    expect(living.map(({ end }) => end)).toEqual([undefined, undefined]);
    // Nothing of the living ones was touched.
    expect(living.flatMap(({ received }) => received.filter(({ cancels }) => cancels))).toEqual([]);
  });
});
