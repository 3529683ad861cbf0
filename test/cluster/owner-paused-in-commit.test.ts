import { afterEach, describe, expect, it } from 'vitest';
import type { Violation } from '../checker/check-history.js';
import { epochOf } from '../checker/history.js';
import { eventually } from '../kit/eventually.js';
import { Cluster, sessionMs, type Tracker } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';
import { pauseAt } from './write-lock.js';

describe('the owner stands still inside a transaction, past its session', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  /** The owner stands still with the write lock, the stand-by is assigned and says what it waits for. */
  async function standStill(): Promise<{ a: Tracker; b: Tracker; old: number }> {
    cluster = await Cluster.start({ trackers: 2, trackerArgs: ['--lock-wait', '1s'] });
    const [a, b] = [cluster.tracker('a'), cluster.tracker('b')];
    await cluster.startWorker('w1', { workThreads: 16 });
    load = new Load(cluster, { submitTimeout: 40_000 });
    load.receive();
    load.start(200);
    await eventually(() => cluster.witness.ends().length > 100, { what: 'work goes on' });
    const old = await a.owns();
    await pauseAt(cluster, a, 'inside a transaction');
    const waits = async (): Promise<boolean> => {
      const { store, store_message: message, degraded, owned } = await b.admin.cluster();
      return store === 'LOCKED' && message.includes(`process ${a.process.pid} `) && degraded && owned.length === 0;
    };
    await eventually(waits, { withinMs: 4 * sessionMs, everyMs: 50, what: 'the stand-by says who holds the store' });
    return { a, b, old };
  }

  /** The stand-by goes on; gives the broken promises. */
  async function finish(b: Tracker, old: number): Promise<Violation[]> {
    const now = await b.owns();
    expect(now).toBeGreaterThan(old);
    await eventually(() => cluster.witness.starts().some(({ fence }) => epochOf(fence) === now), { withinMs: 15_000, what: 'the next owner starts runs' });
    await eventually(async () => (await b.admin.cluster()).store === 'OK', { everyMs: 50, what: 'the store is well' });
    await cluster.allKnown();
    const violations = await conclude(cluster, load);
    expect(load.failures).toEqual([]);
    expect(load.results.size).toBe(load.acked.length);
    return violations;
  }

  it('the stand-by waits and names it, and takes over when it goes on', async () => {
    const { a, b, old } = await standStill();
    await eventually(() => b.process.logged('store.locked').length > 0, { what: 'its log says so' });
    a.process.resume();
    expect(await finish(b, old)).toEqual([]);
    expect(await a.epoch()).toBeUndefined();
  });

  it('the stand-by waits and names it, and takes over when it is killed', async () => {
    const { a, b, old } = await standStill();
    await a.kill();
    expect(await finish(b, old)).toEqual([]);
  });
});
