import { afterEach, describe, expect, it } from 'vitest';
import { newId } from '../../services/job-client/index.js';
import { LtsError } from '../../shared/errors/lts-error.js';
import { systemClock } from '../../shared/time/clock.js';
import { epochOf, record } from '../checker/history.js';
import { eventually } from '../kit/eventually.js';
import { Cluster, group, sessionMs } from './cluster.js';
import { conclude } from './conclude.js';
import { DirectClient } from './direct-client.js';
import { Load } from './load.js';

describe('the owner is cut off from ZooKeeper, but not from the store', () => {
  let cluster: Cluster;
  let load: Load;
  let direct: DirectClient;

  afterEach(async () => {
    direct.close();
    await load.close();
    await cluster.stop();
  });

  /** Submits to the tracker, one job after the other, until it is no more the owner; gives when each accepted one was sent. */
  async function submitUntilRefused(): Promise<number[]> {
    const accepted: number[] = [];
    for (;;) {
      const sentAt = systemClock.now();
      const id = newId();
      const answer = await direct.submit({ task_id: id, node_group: group, type: 'quick', instance_id: id, ext_params: { history: cluster.history } });
      if (answer instanceof LtsError) return accepted;
      record(cluster.history, 'acked', { kind: 'acked', id, atMostOnce: false, needFeedback: false });
      accepted.push(sentAt);
    }
  }

  it('goes on until another has taken over, then not one commit more', async () => {
    cluster = await Cluster.start({ trackers: 2, proxies: true });
    const [a, b] = [cluster.tracker('a'), cluster.tracker('b')];
    await cluster.startWorker('w1', { workThreads: 16 });
    load = new Load(cluster);
    load.receive();
    direct = await DirectClient.connect(a.address);
    const old = await a.owns();
    load.start(100);
    const submitted = submitUntilRefused();
    await eventually(() => cluster.witness.ends().length > 100, { what: 'work goes on' });

    cluster.proxies.get('a')?.blackhole();
    const now = await b.owns(4 * sessionMs);
    expect(now).toBeGreaterThan(old);
    const takenAt = Date.parse(String(b.process.logged('owner.taken').at(-1)?.['time']));
    const accepted = await submitted;
    expect(accepted.length).toBeGreaterThan(100);
    expect(accepted.filter((sentAt) => sentAt > takenAt)).toEqual([]);
    await eventually(async () => (await a.epoch()) === undefined, { everyMs: 50, what: 'the old owner drops what it had' });
    expect(a.process.logged('owner.fenced').length).toBeGreaterThan(0);
    await eventually(() => cluster.witness.starts().some(({ fence }) => epochOf(fence) === now), { withinMs: 15_000, what: 'the next owner starts runs' });

    cluster.proxies.get('a')?.heal();
    await cluster.allKnown();
    expect(await conclude(cluster, load)).toEqual([]);
    expect(load.failures).toEqual([]);
    expect(await b.epoch()).toBe(now);
    expect(await a.epoch()).toBeUndefined();
  });
});
