import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../kit/eventually.js';
import { Cluster } from './cluster.js';
import { conclude } from './conclude.js';
import { clientGroup, Load } from './load.js';

/** More results than one frame holds: their messages are together larger than a gRPC message may be. */
const count = 90;
const messageLength = 60_000;

describe('no client is there while results are owed', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  it('they wait, survive a killed tracker, and come when a client is back; again after a pause when its handler fails', async () => {
    cluster = await Cluster.start();
    const a = cluster.tracker('a');
    await cluster.startWorker('w1');
    load = new Load(cluster);
    const ids = await Promise.all(Array.from({ length: count }, (_, i) => load.submitted({ type: i % 3 === 0 ? 'fail' : 'quick', ext_params: { message_length: `${messageLength}` } })));
    const owed = async (): Promise<boolean> => (await a.admin.feedback(clientGroup)).length === count;
    await eventually(owed, { everyMs: 50, what: 'all results are owed' });
    await a.kill();
    await a.start();
    await a.owns();
    await eventually(owed, { everyMs: 50, what: 'all results are owed still' });

    const stubborn = new Set(ids.slice(0, 5));
    const tries = new Map<string, number[]>();
    load.receive((result) => {
      const times = tries.get(result.instance_id) ?? [];
      tries.set(result.instance_id, [...times, systemClock.monotonic()]);
      if (stubborn.has(result.instance_id) && times.length < 2) throw new Error('not now');
    });
    await eventually(() => load.results.size >= count - stubborn.size, { what: 'the willing handlers have theirs' });
    const failing = await eventually(async () => {
      const entries = await a.admin.feedback(clientGroup);
      return entries.length === stubborn.size && entries.every(({ last_error: error }) => error.includes('not now')) && entries;
    }, { what: 'the failures are recorded' });
    expect(new Set(failing.map(({ result }) => result?.instance_id))).toEqual(stubborn);
    await eventually(() => load.results.size === count, { withinMs: 20_000, what: 'all are handled' });

    expect(await conclude(cluster, load)).toEqual([]);
    for (const id of ids) {
      const [first = 0, second = 0, third = 0, ...more] = tries.get(id) ?? [];
      expect(more).toEqual([]);
      if (!stubborn.has(id)) expect(second).toBe(0);
      else {
        // The back-off is 1 to 2 s after the first failure and 2 to 4 s after the second one.
        expect(second - first).toBeGreaterThan(900);
        expect(third - second).toBeGreaterThan(1_900);
        expect(load.results.get(id)?.deliveries).toBe(2);
      }
    }
    expect([...load.results.values()].filter(({ state }) => state === 'INSTANCE_STATE_FAILED')).toHaveLength(count / 3);
  });
});
