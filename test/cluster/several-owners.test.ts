import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../shared/time/clock.js';
import { hostMs } from '../chaos/host-clock.js';
import { eventually } from '../kit/eventually.js';
import { Cluster } from './cluster.js';
import { conclude } from './conclude.js';
import { longestGaps, pausesOf } from './hand-overs.js';
import { Load } from './load.js';

const groups = Array.from({ length: 16 }, (_, i) => `group-${i + 1}`);
/** Of all groups together. */
const perSecond = 64;

/** Longest time in which a partition that moves in order begins nothing, in milliseconds. */
const pauseLimitMs = 500;

/** Trackers log by the wall clock, runners by that of the host. */
interface Moment {
  wallMs: number;
  hostMs: number;
}

const now = (): Moment => ({ wallMs: systemClock.now(), hostMs: hostMs() });

describe('several trackers share the partitions on PostgreSQL', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  /** @param hosts worker processes, each with a worker of every group */
  async function begin(trackers: number, hosts = 1): Promise<void> {
    cluster = await Cluster.start({ trackers, store: 'postgres' });
    for (const name of ['w1', 'w2'].slice(0, hosts)) await cluster.startHost(name, groups);
    load = new Load(cluster);
    load.receive();
    let next = 0;
    load.start(perSecond, () => ({ node_group: groups[next++ % groups.length] ?? '' }));
    await worksOn(100);
  }

  /** So many more runs end. */
  async function worksOn(runs: number): Promise<void> {
    const before = cluster.witness.ends().length;
    await eventually(() => cluster.witness.ends().length >= before + runs, { withinMs: 20_000, everyMs: 50, what: `${runs} more runs` });
  }

  /**
   * Nothing was refused, lost or done twice, and no pause was long. A worker that leaves sends back what it has not begun,
   * which is then another attempt: what ended before that has one.
   */
  async function concludeWell(from: Moment, { earlier = [], workersLeaveAt = Infinity }: { earlier?: readonly string[]; workersLeaveAt?: number } = {}): Promise<void> {
    const pauses = [...pausesOf(cluster, earlier, from.wallMs).values()];
    const gaps = [...longestGaps(cluster, from.hostMs).values()];
    process.stdout.write(`${pauses.length} partitions moved, longest pause ${Math.max(0, ...pauses)} ms; longest time without a run of one group ${Math.max(...gaps)} ms\n`);
    expect(await conclude(cluster, load)).toEqual([]);
    expect(load.failures).toEqual([]);
    const instances = await (await cluster.owner()).admin.instances();
    expect(instances.filter(({ attempt, ended_at: endedAt }) => attempt !== 1 && endedAt < workersLeaveAt).map(({ instance_id: id }) => id)).toEqual([]);
    const begun = cluster.witness.starts().map(({ id }) => id);
    expect(begun.length).toBe(new Set(begun).size);
    expect(load.results.size).toBe(load.acked.length);
    expect(Math.max(0, ...pauses)).toBeLessThan(pauseLimitMs);
  }

  it('evenly, and evenly again when one joins and when one leaves; nothing is disturbed', async () => {
    await begin(2);
    const from = now();
    await cluster.join('c');
    await cluster.evenly();
    await worksOn(150);
    const b = cluster.tracker('b');
    expect(await b.process.stop()).toBe(0);
    await cluster.evenly(['a', 'c']);
    await worksOn(150);
    expect(pausesOf(cluster, [], from.wallMs).size).toBeGreaterThan(30);
    await concludeWell(from);
  });

  it('while each of them is restarted in turn, and then each worker process', async () => {
    await begin(3, 2);
    const from = now();
    const logs: string[] = [];
    for (const tracker of [...cluster.trackers]) {
      expect(await tracker.process.stop()).toBe(0);
      logs.push(tracker.process.output);
      await cluster.evenly();
      await tracker.start();
      await cluster.evenly();
      await worksOn(60);
    }
    const workersLeaveAt = systemClock.now();
    for (const host of [...cluster.hosts]) {
      await host.stop();
      await host.start();
      await worksOn(60);
    }
    await concludeWell(from, { earlier: logs, workersLeaveAt });
  });

  it('until one is killed: its partitions alone move, the others do not pause', async () => {
    await begin(3);
    const { owned: before } = await cluster.tracker('a').admin.cluster();
    const ownersBefore = new Map(await Promise.all(groups.map(async (group) => [group, (await cluster.ownerOf(group)).name] as const)));
    const from = now();
    await cluster.tracker('c').kill();
    await cluster.evenly(['a', 'b']);
    await worksOn(150);
    const { owned: after } = await cluster.tracker('a').admin.cluster();
    // Under the same epochs: not even taken again.
    for (const held of before) expect(after).toContainEqual(held);
    const gaps = [...longestGaps(cluster, from.hostMs)].filter(([group]) => ownersBefore.get(group) !== 'c').map(([, gap]) => gap);
    process.stdout.write(`one of three killed: longest time without a run of a group of the others ${Math.max(...gaps)} ms\n`);
    expect(await conclude(cluster, load)).toEqual([]);
    expect(load.failures).toEqual([]);
    expect(load.results.size).toBe(load.acked.length);
    expect(Math.max(...gaps)).toBeLessThan(1_500);
  });
});
