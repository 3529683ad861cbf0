import { LtsError, messageOf, toLtsError } from '../../../shared/errors/lts-error.js';
import type { Reason } from '../../../shared/errors/reasons.js';
import type { Logger } from '../../../shared/log/logger.js';
import { backoffMs } from '../../../shared/time/backoff.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { HeldEpoch, LoadedPartition, OwnerIdentity, QueueStore, StoreIdentity } from '../queue/queue-store.js';

/** What follows from ownership. */
export interface OwnershipEvents {
  /** The partition is loaded: workers are asked, timers armed, work goes on. */
  adopted(partition: number): void;
  /** These are not owned any more. */
  dropped(partitions: readonly number[]): void;
  /** A higher epoch is stored although the registry may still name this tracker. */
  fenced(): void;
}

/** Errors of a store that trying again does not mend. */
const hopeless: ReadonlySet<Reason> = new Set(['STORE_FOREIGN', 'STORE_NEWER', 'STORE_DAMAGED', 'STORE_UNSAFE', 'CONFIG_INVALID']);

/**
 * Which partitions this tracker owns, by the epoch in the store.
 *
 * States of a partition: not wanted → wanted (assigned; being taken: epoch + 1 in the store, then loaded) → owned →
 * dropped (fenced or released) . A commit of unknown outcome sends an owned partition back to wanted: it is taken again,
 * which orders itself behind the old commit or fences it out, and loaded. Take-over and reload are this one path.
 * On failure of taking (store locked or failing) it is tried again until the partition is not wanted any more; what the
 * store said is shown meanwhile. An idle owner re-reads its epochs every second (`checkEpochs`).
 */
export class Ownership {
  readonly #store: QueueStore;
  readonly #groups: OwnedGroups;
  #identity: OwnerIdentity;
  readonly #ownerOf: (partition: number) => string;
  readonly #events: OwnershipEvents;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #wanted = new Set<number>();
  #opened: StoreIdentity | undefined;
  #running = false;
  #draining = false;
  #trouble: LtsError | undefined;

  constructor(
    store: QueueStore,
    groups: OwnedGroups,
    identity: Omit<OwnerIdentity, 'nodeId'>,
    ownerOf: (partition: number) => string,
    events: OwnershipEvents,
    clock: Clock,
    log: Logger,
  ) {
    this.#store = store;
    this.#groups = groups;
    this.#identity = { nodeId: '', ...identity };
    this.#ownerOf = ownerOf;
    this.#events = events;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Opens the store ahead of any assignment, so that a store that can never be used is told at the start. Rejects with
   * STORE_FOREIGN, STORE_NEWER, STORE_DAMAGED, STORE_UNSAFE or CONFIG_INVALID; anything that may pass is tried again when it is needed.
   */
  async open(): Promise<void> {
    try {
      this.#opened = await this.#openStore();
    } catch (error) {
      if (hopeless.has(toLtsError(error).reason)) throw error;
      this.#log.warn('store.failed', { operation: 'open', error });
    }
  }

  /** Identity of the store, opening it when it was not; "" while it cannot be opened. */
  async identify(): Promise<string> {
    if (this.#opened === undefined) await this.open();
    return this.storeId;
  }

  /** The name under which partitions are taken. */
  standAs(nodeId: string): void {
    this.#identity = { ...this.#identity, nodeId };
  }

  /** Known once the store is open. */
  get storeId(): string {
    return this.#opened?.storeId ?? '';
  }

  /** Why partitions could not be taken so far. */
  get trouble(): LtsError | undefined {
    return this.#trouble;
  }

  /** Whether this node may accept work now. */
  get serving(): boolean {
    return !this.#draining && this.#groups.partitions.size > 0;
  }

  epochOf(partition: number): number | undefined {
    return this.#groups.partitions.get(partition)?.epoch;
  }

  /** The partition of the group, which this tracker owns; throws NOT_OWNER, LOADING or DRAINING. */
  require(nodeGroup: string): number {
    const partition = this.#groups.partitionOf(nodeGroup);
    if (this.#draining) throw new LtsError('DRAINING', 'this tracker is leaving; call the next owner with the same ids');
    if (this.#groups.partitions.has(partition)) return partition;
    throw this.notOwner(nodeGroup);
  }

  /** Throws when this tracker takes nothing in at all. */
  requireAccepting(): void {
    if (this.#draining) throw new LtsError('DRAINING', 'this tracker is leaving; call the next owner with the same ids');
    if (this.#groups.partitions.size > 0) return;
    throw this.notOwner('');
  }

  /** Why a group is not served here. */
  notOwner(nodeGroup: string): LtsError {
    const partition = nodeGroup === '' ? 0 : this.#groups.partitionOf(nodeGroup);
    if (this.#wanted.has(partition)) {
      return new LtsError('LOADING', `partition ${partition} is being taken over${this.#trouble === undefined ? '' : ` (${this.#trouble.message})`}; call again with the same ids`);
    }
    const owner = this.#ownerOf(partition);
    return new LtsError('NOT_OWNER', `this tracker does not own partition ${partition}${owner === '' ? '; there is no owner yet' : `; its owner is ${owner}`}`, { owner });
  }

  /** Follows an assignment. */
  assign(partitions: readonly number[]): void {
    this.#wanted.clear();
    if (!this.#draining) for (const partition of partitions) this.#wanted.add(partition);
    void this.#settle();
  }

  /** The outcome of a commit is unknown: takes the partitions again. */
  reload(partitions: readonly number[], error: LtsError): void {
    this.#log.warn('owner.reload', { partitions, error });
    for (const partition of partitions) this.#groups.drop(partition);
    void this.#settle();
  }

  /** A higher epoch is stored: drops the partitions at once. */
  fenced(partitions: readonly number[]): void {
    const held = partitions.filter((partition) => this.#groups.partitions.has(partition));
    if (held.length === 0) return;
    this.#log.warn('owner.fenced', { partitions: held });
    for (const partition of held) {
      this.#wanted.delete(partition);
      this.#groups.drop(partition);
    }
    this.#events.dropped(held);
    this.#events.fenced();
  }

  /** Asks the store whether the epochs are still current. To be called about every second. */
  async checkEpochs(): Promise<void> {
    const held = this.#held();
    if (held.length === 0) return;
    try {
      const stale = await this.#store.fenced(held);
      this.fenced(stale.filter((partition) => held.some((each) => each.partition === partition && each.epoch === this.epochOf(partition))));
    } catch (error) {
      this.#log.warn('store.failed', { operation: 'fenced', error });
    }
  }

  /** Takes no more work. */
  drain(): void {
    this.#draining = true;
    this.#wanted.clear();
  }

  /** Lets go of all partitions; what was on its way must be stored by now. */
  async release(): Promise<void> {
    await this.#letGo([...this.#groups.partitions.keys()]);
  }

  #held(): HeldEpoch[] {
    return [...this.#groups.partitions.values()].map(({ partition, epoch }) => ({ partition, epoch }));
  }

  /** Makes what is owned equal to what is wanted; one at a time. */
  async #settle(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    for (let tries = 0; ; tries++) {
      const extra = [...this.#groups.partitions.keys()].filter((partition) => !this.#wanted.has(partition));
      if (extra.length > 0 && !this.#draining) await this.#letGo(extra);
      const missing = [...this.#wanted].filter((partition) => !this.#groups.partitions.has(partition));
      if (missing.length === 0) break;
      try {
        await this.#take(missing);
        this.#trouble = undefined;
      } catch (error) {
        this.#trouble = toLtsError(error);
        this.#log.warn(this.#trouble.reason === 'STORE_LOCKED' ? 'store.locked' : 'store.failed', { error });
        await this.#clock.sleep(backoffMs(tries, 100, 2_000));
      }
    }
    this.#running = false;
  }

  async #take(partitions: number[]): Promise<void> {
    this.#log.info('owner.taking', { partitions: partitions.length });
    this.#opened ??= await this.#openStore();
    const begun = this.#clock.monotonic();
    const held = await this.#store.take(partitions, this.#identity);
    const loaded: [HeldEpoch, LoadedPartition][] = [];
    for (const each of held) loaded.push([each, await this.#store.load(each.partition)]);
    for (const [each, rows] of loaded) {
      if (!this.#wanted.has(each.partition)) continue;
      this.#groups.adopt(each, rows);
      this.#events.adopted(each.partition);
    }
    this.#log.info('owner.taken', { partitions: partitions.length, epoch: held[0]?.epoch, tookMs: Math.round(this.#clock.monotonic() - begun) });
  }

  async #openStore(): Promise<StoreIdentity> {
    const identity = await this.#store.open();
    this.#groups.total = identity.partitions;
    this.#log.info('store.opened', { ...identity });
    return identity;
  }

  async #letGo(partitions: number[]): Promise<void> {
    const held = this.#held().filter((each) => partitions.includes(each.partition));
    if (held.length === 0) return;
    for (const { partition } of held) this.#groups.drop(partition);
    this.#events.dropped(partitions);
    try {
      await this.#store.release(held);
      this.#log.info('owner.released', { partitions: partitions.length });
    } catch (error) {
      this.#log.warn('store.failed', { operation: 'release', error: messageOf(error) });
    }
  }
}
