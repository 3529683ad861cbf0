import { beforeEach, describe, expect, it } from 'vitest';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { type Logger, silentLogger } from '../../../shared/log/logger.js';
import { partitionOf } from '../../../shared/partition.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import { OwnedGroups } from '../queue/owned-groups.js';
import type { HeldEpoch, LoadedPartition, OwnerIdentity, QueueStore, StoredOwner } from '../queue/queue-store.js';
import { Ownership } from './ownership.js';

const displaceAfterMs = 3_000;

/** The ownership of partitions as a store keeps it; loads can be held back. */
class Epochs {
  readonly rows: StoredOwner[] = Array.from({ length: 4 }, (_, partition) => ({ partition, epoch: 0, nodeId: '', incarnation: '' }));
  readonly takes: number[][] = [];
  /** Partitions whose row somebody has deleted. */
  readonly gone = new Set<number>();
  loading: Promise<unknown> = Promise.resolve();
  failingReleases = 0;
  checks = 0;

  open = async (): Promise<unknown> => ({ storeId: 's', cluster: 'c', partitions: 4 });
  owners = async (): Promise<StoredOwner[]> => this.rows.filter(({ partition }) => !this.gone.has(partition)).map((row) => ({ ...row }));
  take = async (partitions: readonly number[], owner: OwnerIdentity): Promise<HeldEpoch[]> => {
    this.takes.push([...partitions]);
    if (partitions.some((partition) => this.gone.has(partition))) throw new LtsError('CONFIG_INVALID', 'the store has no such partition');
    return partitions.map((partition) => {
      const row = this.rows[partition] as StoredOwner;
      Object.assign(row, { epoch: row.epoch + 1, nodeId: owner.nodeId, incarnation: owner.incarnation });
      return { partition, epoch: row.epoch };
    });
  };
  release = async (held: readonly HeldEpoch[]): Promise<void> => {
    if (this.failingReleases-- > 0) throw new LtsError('STORE_FAILED', 'the store is away');
    for (const { partition, epoch } of held) {
      const row = this.rows[partition];
      if (row?.epoch === epoch) Object.assign(row, { nodeId: '', incarnation: '' });
    }
  };
  fenced = async (held: readonly HeldEpoch[]): Promise<number[]> => {
    this.checks++;
    await this.loading;
    return held.filter(({ partition, epoch }) => this.rows[partition]?.epoch !== epoch).map(({ partition }) => partition);
  };
  load = async (): Promise<LoadedPartition> => {
    await this.loading;
    return { groups: [], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } };
  };

  get holders(): string[] {
    return this.rows.map(({ incarnation }) => incarnation);
  }
}

class Node {
  readonly groups = new OwnedGroups(100);
  readonly dropped: number[][] = [];
  readonly warnings: [string, unknown][] = [];
  readonly ownership: Ownership;
  flushing: Promise<void> = Promise.resolve();
  hears = true;

  constructor(name: string, epochs: Epochs, live: ReadonlySet<string>, clock: VirtualClock) {
    const log: Logger = { ...silentLogger, warn: (event, fields) => void this.warnings.push([event, fields]) };
    this.ownership = new Ownership({
      store: epochs as unknown as QueueStore,
      groups: this.groups,
      identity: { incarnation: name, pid: 1 },
      ownerOf: () => 'there:1',
      isLive: (incarnation) => live.has(incarnation),
      hearsRegistry: () => this.hears,
      flushed: () => this.flushing,
      events: { adopted: () => undefined, dropped: (partitions) => this.dropped.push([...partitions]), fenced: () => undefined },
      displaceAfterMs,
      clock,
      log,
    });
    this.ownership.standAs(name);
  }

  get owned(): number[] {
    return [...this.groups.partitions.keys()].sort((x, y) => x - y);
  }
}

/** A group of each partition. */
const groupOf = (partition: number): string => Array.from({ length: 100 }, (_, i) => `g${i}`).find((name) => partitionOf(name, 4) === partition) ?? '';

describe('Ownership', () => {
  let clock: VirtualClock;
  let epochs: Epochs;
  let live: Set<string>;
  let [a, b]: [Node, Node] = [undefined as never, undefined as never];

  beforeEach(async () => {
    clock = new VirtualClock();
    epochs = new Epochs();
    live = new Set(['a', 'b']);
    [a, b] = [new Node('a', epochs, live, clock), new Node('b', epochs, live, clock)];
    a.ownership.assign([0, 1, 2, 3]);
    await clock.advance(0);
  });

  it('takes all that is assigned in one step', () => {
    expect(epochs.takes).toEqual([[0, 1, 2, 3]]);
    expect(a.owned).toEqual([0, 1, 2, 3]);
  });

  it('hands over: flushes, releases, and only then the next owner takes', async () => {
    let flushed = (): void => undefined;
    a.flushing = new Promise((resolve) => (flushed = resolve));
    b.ownership.assign([2, 3]);
    a.ownership.assign([0, 1]);
    await clock.advance(200);
    expect([a.owned, b.owned]).toEqual([[0, 1, 2, 3], []]);
    expect(() => a.ownership.require(groupOf(2))).toThrow(expect.objectContaining({ reason: 'NOT_OWNER', owner: 'there:1' }));
    expect(a.ownership.require(groupOf(1))).toBe(1);
    expect(() => b.ownership.require(groupOf(2))).toThrow(expect.objectContaining({ reason: 'LOADING' }));
    flushed();
    await clock.advance(100);
    expect([a.owned, b.owned]).toEqual([[0, 1], [2, 3]]);
    expect(a.dropped).toEqual([[2, 3]]);
    expect(epochs.rows.map(({ epoch }) => epoch)).toEqual([1, 1, 2, 2]);
    expect(b.ownership.require(groupOf(2))).toBe(2);
  });

  it('releases again what the store did not release: the next owner need not wait for the session time', async () => {
    epochs.failingReleases = 3;
    a.ownership.assign([0, 1]);
    b.ownership.assign([2, 3]);
    await clock.advance(2_000);
    expect([a.owned, b.owned, epochs.holders]).toEqual([[0, 1], [2, 3], ['a', 'a', 'b', 'b']]);
    expect([a.ownership.trouble, a.dropped]).toEqual([undefined, [[2, 3]]]);
  });

  it('waits no longer than it may for what cannot be flushed', async () => {
    a.flushing = new Promise(() => undefined);
    a.ownership.assign([0, 1]);
    b.ownership.assign([2, 3]);
    await clock.advance(1_200);
    expect(b.owned).toEqual([2, 3]);
  });

  it('takes at once what a dead tracker holds', async () => {
    live.delete('a');
    b.ownership.assign([2, 3]);
    await clock.advance(0);
    expect(b.owned).toEqual([2, 3]);
  });

  it('takes what is free while it waits for the rest, and displaces a live holder after the session time', async () => {
    await epochs.release([{ partition: 1, epoch: 1 }]);
    b.ownership.assign([1, 2]);
    await clock.advance(displaceAfterMs - 100);
    expect(b.owned).toEqual([1]);
    await clock.advance(200);
    expect(b.owned).toEqual([1, 2]);
  });

  it('displaces nobody while the registry is away, however long it takes and whoever seems dead', async () => {
    b.hears = false;
    b.ownership.assign([0, 1]);
    await clock.advance(10 * displaceAfterMs);
    live.delete('a');
    await clock.advance(10 * displaceAfterMs);
    expect([b.owned, epochs.holders]).toEqual([[], ['a', 'a', 'a', 'a']]);
    b.hears = true;
    await clock.advance(1_000);
    expect(b.owned).toEqual([0, 1]);
  });

  it('releases what is assigned to another before it was loaded', async () => {
    let loaded = (): void => undefined;
    epochs.loading = new Promise<void>((resolve) => (loaded = resolve));
    live.delete('a');
    b.ownership.assign([2]);
    await clock.advance(0);
    expect(epochs.holders[2]).toBe('b');
    b.ownership.assign([]);
    loaded();
    await clock.advance(100);
    expect([b.owned, epochs.holders[2]]).toEqual([[], '']);
    expect(b.dropped).toEqual([]);
  });

  it('follows an assignment that comes while it lets go', async () => {
    let flushed = (): void => undefined;
    a.flushing = new Promise((resolve) => (flushed = resolve));
    a.ownership.assign([0, 1]);
    await clock.advance(10);
    a.ownership.assign([0, 3]);
    flushed();
    await clock.advance(100);
    expect(a.owned).toEqual([0, 3]);
    expect(epochs.holders).toEqual(['a', '', '', 'a']);
  });

  it('takes again after a commit of unknown outcome, without waiting for itself', async () => {
    a.ownership.reload([1], new LtsError('STORE_FAILED', 'unknown'));
    await clock.advance(0);
    expect([a.owned, a.ownership.epochOf(1)]).toEqual([[0, 1, 2, 3], 2]);
  });

  it('takes again at most twice a second when it fails again and again', async () => {
    for (let time = 0; time < 100; time++) {
      if (a.groups.partitions.has(1)) a.ownership.reload([1], new LtsError('STORE_FAILED', 'unknown'));
      await clock.advance(20);
    }
    expect(epochs.takes.length).toBeLessThanOrEqual(5);
    await clock.advance(1_000);
    expect(a.owned).toEqual([0, 1, 2, 3]);
  });

  it('tells that a partition is gone which is assigned to another while it is taken again', async () => {
    let loaded = (): void => undefined;
    epochs.loading = new Promise<void>((resolve) => (loaded = resolve));
    a.ownership.reload([1], new LtsError('STORE_FAILED', 'unknown'));
    await clock.advance(0);
    a.ownership.assign([0, 2, 3]);
    loaded();
    await clock.advance(100);
    expect([a.owned, a.dropped]).toEqual([[0, 2, 3], [[1]]]);
  });

  it('drops at once what was taken over', async () => {
    await epochs.take([1], { nodeId: 'b', incarnation: 'b', pid: 1 });
    a.ownership.fenced([1]);
    expect(a.owned).toEqual([0, 2, 3]);
    await clock.advance(0);
    expect(a.warnings).toEqual([['owner.fenced', { partitions: '1' }], ['owner.displaced', { owners: ['b'], partitions: '1' }]]);
    expect(a.dropped).toEqual([[1]]);
    a.ownership.assign([0]);
    await clock.advance(100);
    expect(epochs.holders).toEqual(['a', 'b', '', '']);
  });

  it('knows since when for certain nobody else has a partition: it was asked for then, not when the answer came', async () => {
    const confirmed = (): (number | undefined)[] => [0, 1].map((partition) => a.groups.partitions.get(partition)?.confirmedAt);
    const taken = clock.monotonic();
    expect(confirmed()).toEqual([taken, taken]);
    await clock.advance(1_000);
    epochs.loading = clock.sleep(400);
    const checked = a.ownership.checkEpochs();
    await clock.advance(400);
    await checked;
    expect(confirmed()).toEqual([taken + 1_000, taken + 1_000]);
    epochs.loading = Promise.reject(new LtsError('STORE_FAILED', 'the store is away'));
    await a.ownership.checkEpochs();
    expect(confirmed()).toEqual([taken + 1_000, taken + 1_000]);
    await epochs.take([1], { nodeId: 'b', incarnation: 'b', pid: 1 });
    epochs.loading = Promise.resolve();
    await a.ownership.checkEpochs();
    expect(confirmed()).toEqual([taken + 1_400, undefined]);
  });

  it('asks a store that does not answer once, however often it is to be asked', async () => {
    epochs.loading = clock.sleep(5_000);
    const checked = [a.ownership.checkEpochs(), a.ownership.checkEpochs(), a.ownership.checkEpochs()];
    await clock.advance(5_000);
    await Promise.all(checked);
    expect(epochs.checks).toBe(1);
    await a.ownership.checkEpochs();
    expect(epochs.checks).toBe(2);
  });

  it('takes the others when the row of one is gone, and says so until it is back', async () => {
    epochs.gone.add(2);
    live.delete('a');
    b.ownership.assign([1, 2, 3]);
    await clock.advance(100);
    expect(b.owned).toEqual([1, 3]);
    expect(b.ownership.trouble).toMatchObject({ reason: 'STORE_DAMAGED', message: expect.stringContaining('no partition 2') });
    expect(() => b.ownership.require(groupOf(2))).toThrow(expect.objectContaining({ reason: 'LOADING', message: expect.stringContaining('no partition 2') }));
    epochs.gone.clear();
    await clock.advance(3_000);
    expect([b.owned, b.ownership.trouble]).toEqual([[1, 2, 3], undefined]);
  });

  it('tells a failure once, every 30 s again, and anew when it comes back', async () => {
    epochs.gone.add(2);
    live.delete('a');
    b.ownership.assign([2]);
    await clock.advance(20_000);
    expect(b.warnings).toEqual([['store.failed', { operation: 'take', reason: 'STORE_DAMAGED', why: expect.stringContaining('no partition 2') }]]);
    await clock.advance(15_000);
    expect(b.warnings).toHaveLength(2);
    epochs.gone.clear();
    await clock.advance(3_000);
    epochs.gone.add(2);
    b.ownership.reload([2], new LtsError('STORE_FAILED', 'unknown'));
    await clock.advance(1_000);
    expect(b.warnings.map(([event]) => event)).toEqual(['store.failed', 'store.failed', 'owner.reload', 'store.failed']);
  });

  it('has no trouble any more with a partition that is assigned to another', async () => {
    epochs.gone.add(1);
    a.ownership.reload([1], new LtsError('STORE_FAILED', 'unknown'));
    await clock.advance(500);
    expect(a.ownership.trouble).toBeDefined();
    a.ownership.assign([0, 2, 3]);
    await clock.advance(5_000);
    expect(a.ownership.trouble).toBeUndefined();
  });

  it('lets go of all that is left when it leaves', async () => {
    a.ownership.drain();
    expect(() => a.ownership.require(groupOf(0))).toThrow(expect.objectContaining({ reason: 'DRAINING' }));
    await a.ownership.release();
    expect(epochs.holders).toEqual(['', '', '', '']);
  });
});
