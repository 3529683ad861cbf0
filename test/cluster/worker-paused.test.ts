import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../kit/eventually.js';
import { Cluster } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

describe('a worker stands still past its grace time', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  it('its late results change nothing and are recorded on their attempts', async () => {
    cluster = await Cluster.start({ graceMs: 1_000 });
    const { admin } = cluster.tracker('a');
    const paused = await cluster.startWorker('w1');
    load = new Load(cluster);
    load.receive();
    const gate = cluster.gate();
    const ids = await Promise.all(Array.from({ length: 3 }, () => load.submitted({ type: 'hold', payload: gate.path })));
    await eventually(() => cluster.witness.starts().length === 3, { what: 'all run' });
    const other = await cluster.startWorker('w2');

    paused.pause();
    gate.open();
    await eventually(() => load.results.size === 3, { withinMs: 20_000, what: 'the other worker has run them' });
    const before = await Promise.all(ids.map((id) => admin.instance(id)));
    paused.resume();
    const late = async (id: string): Promise<boolean> => (await admin.attempts(id))[0]?.late_outcome !== 'ATTEMPT_OUTCOME_UNSPECIFIED';
    await eventually(async () => (await Promise.all(ids.map(late))).every(Boolean), { withinMs: 20_000, everyMs: 100, what: 'the late results are recorded' });

    expect(await conclude(cluster, load)).toEqual([]);
    for (const [i, id] of ids.entries()) {
      expect(await admin.attempts(id)).toMatchObject([
        { attempt: 1, task_tracker: 'w1', outcome: 'ATTEMPT_OUTCOME_LOST', late_outcome: 'ATTEMPT_OUTCOME_SUCCESS', late_message: `attempt 1 on ${paused.pid}` },
        { attempt: 2, task_tracker: 'w2', outcome: 'ATTEMPT_OUTCOME_SUCCESS', message: `attempt 2 on ${other.pid}` },
      ]);
      expect(await admin.instance(id)).toEqual(before[i]);
      expect(load.results.get(id)).toMatchObject({ state: 'INSTANCE_STATE_SUCCEEDED', attempt: 2 });
    }
    // It works again.
    const again = await load.submitted({ task_id: 'again' });
    await eventually(() => load.results.has(again), { what: 'a new job is done' });
    await cluster.workersConnected(2);
  });
});
