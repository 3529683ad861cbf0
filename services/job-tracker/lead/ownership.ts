import { LtsError, toLtsError } from '../../../shared/errors/lts-error.js';
import type { Reason } from '../../../shared/errors/reasons.js';
import type { Logger } from '../../../shared/log/logger.js';
import { formatRanges } from '../../../shared/ranges.js';
import { backoffMs } from '../../../shared/time/backoff.js';
import type { Clock } from '../../../shared/time/clock.js';
import { withDeadline } from '../../../shared/time/deadline.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { HeldEpoch, OwnerIdentity, QueueStore, StoreIdentity } from '../queue/queue-store.js';
import type { OwnershipParts } from './ownership-parts.js';
import { Repeats } from './repeats.js';

/** Errors of a store that trying again does not mend. */
const hopeless: ReadonlySet<Reason> = new Set(['STORE_FOREIGN', 'STORE_NEWER', 'STORE_DAMAGED', 'STORE_UNSAFE', 'CONFIG_INVALID']);
/** How often is looked whether a live holder has released what is assigned here. */
const pollMs = 25;
/** The same while the registry, which may name another owner by now, is away. */
const deafPollMs = 1_000;
const flushWithinMs = 1_000;
const reloadPauseMs = 1_000;
const loadsAtOnce = 4;

/**
 * Which partitions this tracker owns, by the epoch in the store.
 *
 * States of a partition: not wanted → wanted (assigned; being taken: epoch + 1 in the store, then loaded) → owned →
 * leaving (assigned to another: nothing begins any more, what is on its way is stored) → released. A fenced one is
 * dropped at once. A commit of unknown outcome sends an owned partition back to wanted: it is taken again, which orders
 * itself behind the old commit or fences it out, and loaded. Take-over and reload are this one path.
 *
 * Who is displaced: what a live tracker holds is left to it until it has released it, at most for the session time; the
 * registry tells who lives, the store who holds. A belief that is wrong costs time only, for the epoch is the fence.
 *
 * On failure of taking (store locked or failing; a row that is gone, then the others are taken) it is tried again until
 * the partition is not wanted any more; what the store said is shown meanwhile. An idle owner re-reads its epochs every
 * second (`checkEpochs`).
 */
export class Ownership {
  readonly #parts: OwnershipParts;
  readonly #store: QueueStore;
  readonly #groups: OwnedGroups;
  readonly #clock: Clock;
  readonly #log: Logger;
  #identity: OwnerIdentity;
  readonly #wanted = new Set<number>();
  /** Epochs that the store has under this tracker's name, as far as is known: owned ones, and those being loaded. */
  readonly #epochs = new Map<number, number>();
  /** Since when a wanted partition is held by another live tracker, monotonic milliseconds. */
  readonly #waitingSince = new Map<number, number>();
  /** Whose adoption was told, and whose loss was not yet: what is being taken again has its workers and receivers still. */
  readonly #told = new Set<number>();
  /** Monotonic milliseconds of the last commit of unknown outcome. */
  #reloadedAt = Number.NEGATIVE_INFINITY;
  #opened: StoreIdentity | undefined;
  #running = false;
  #checking: Promise<void> | undefined;
  #draining = false;
  #trouble: LtsError | undefined;
  readonly #failures: Repeats;

  constructor(parts: OwnershipParts) {
    this.#parts = parts;
    this.#store = parts.store;
    this.#groups = parts.groups;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#failures = new Repeats(parts.clock);
    this.#identity = { nodeId: '', ...parts.identity };
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
      this.#tellFailure('open', error);
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
    if (this.#groups.isOpen(partition)) return partition;
    throw this.notOwner(nodeGroup);
  }

  /** Throws when this tracker takes nothing in at all. */
  requireAccepting(): void {
    if (this.#draining) throw new LtsError('DRAINING', 'this tracker is leaving; call the next owner with the same ids');
    if (this.#groups.partitions.size > 0) return;
    throw this.notOwner('');
  }

  /** Why a group is not served here; "": why nothing is. */
  notOwner(nodeGroup: string): LtsError {
    const [first = 0] = this.#wanted;
    return this.notOwning(nodeGroup === '' ? first : this.#groups.partitionOf(nodeGroup));
  }

  /** Why a partition is not served here: it is being taken over, or has another owner. */
  notOwning(partition: number): LtsError {
    if (this.#wanted.has(partition)) {
      return new LtsError('LOADING', `partition ${partition} is being taken over${this.#trouble === undefined ? '' : ` (${this.#trouble.message})`}; call again with the same ids`);
    }
    const owner = this.#parts.ownerOf(partition);
    return new LtsError('NOT_OWNER', `this tracker does not own partition ${partition}${owner === '' ? '; there is no owner yet' : `; its owner is ${owner}`}`, { owner });
  }

  /** Follows an assignment. */
  assign(partitions: readonly number[]): void {
    this.#wanted.clear();
    if (!this.#draining) for (const partition of partitions) this.#wanted.add(partition);
    for (const partition of this.#waitingSince.keys()) if (!this.#wanted.has(partition)) this.#waitingSince.delete(partition);
    void this.#settle();
  }

  /** The outcome of a commit is unknown: takes the partitions again. */
  reload(partitions: readonly number[], error: LtsError): void {
    this.#log.warn('owner.reload', { partitions: formatRanges(partitions), error });
    for (const partition of partitions) this.#groups.drop(partition);
    const now = this.#clock.monotonic();
    const isAgain = now - this.#reloadedAt < reloadPauseMs;
    this.#reloadedAt = now;
    // A commit that fails each time must not keep the store busy with taking.
    if (isAgain) this.#clock.after(reloadPauseMs, () => void this.#settle(), { unref: true });
    else void this.#settle();
  }

  /** A higher epoch is stored: drops the partitions at once. */
  fenced(partitions: readonly number[]): void {
    const held = partitions.filter((partition) => this.#groups.partitions.has(partition));
    if (held.length === 0) return;
    this.#log.warn('owner.fenced', { partitions: formatRanges(held) });
    for (const partition of held) {
      this.#wanted.delete(partition);
      this.#epochs.delete(partition);
      this.#groups.drop(partition);
    }
    this.#tellDropped(held);
    this.#parts.events.fenced();
    void this.#tellHolders(held);
  }

  /** Asks the store whether the epochs are still current. To be called about every second; calls share a question that is under way. */
  checkEpochs(): Promise<void> {
    return (this.#checking ??= this.#askEpochs().finally(() => (this.#checking = undefined)));
  }

  async #askEpochs(): Promise<void> {
    const held = this.#held();
    if (held.length === 0) return;
    const asked = this.#clock.monotonic();
    try {
      const stale = await this.#store.fenced(held);
      this.#groups.confirm(held.filter(({ partition }) => !stale.includes(partition)), asked);
      this.fenced(stale.filter((partition) => held.some((each) => each.partition === partition && each.epoch === this.epochOf(partition))));
    } catch (error) {
      this.#tellFailure('fenced', error);
    }
  }

  /** Takes no more work. */
  drain(): void {
    this.#draining = true;
    this.#wanted.clear();
  }

  /** Lets go of all partitions; what was on its way must be stored by now. */
  async release(): Promise<void> {
    await this.#letGo([...this.#epochs.keys()]);
  }

  /** Names who has the partitions now, so that a tracker of another registry on the same store is found. */
  async #tellHolders(partitions: readonly number[]): Promise<void> {
    try {
      const now = (await this.#store.owners()).filter(({ partition, nodeId }) => nodeId !== '' && partitions.includes(partition));
      if (now.length > 0) this.#log.warn('owner.displaced', { owners: [...new Set(now.map(({ nodeId }) => nodeId))], partitions: formatRanges(now.map(({ partition }) => partition)) });
    } catch (error) {
      this.#tellFailure('owners', error);
    }
  }

  /** What is tried again every moment is told once, and again every 30 s; in between for debugging only. */
  #tellFailure(operation: string, error: unknown): void {
    const { reason, message } = toLtsError(error);
    const level = this.#failures.isNews(message) ? 'warn' : 'debug';
    this.#log[level](reason === 'STORE_LOCKED' ? 'store.locked' : 'store.failed', { operation, reason, ...(reason === 'INTERNAL' ? { error } : { why: message }) });
  }

  #held(): HeldEpoch[] {
    return [...this.#groups.partitions.values()].map(({ partition, epoch }) => ({ partition, epoch }));
  }

  /** Makes what is owned equal to what is wanted; one at a time. */
  async #settle(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    for (let tries = 0; !this.#draining; ) {
      const unwanted = [...this.#epochs.keys()].filter((partition) => !this.#wanted.has(partition));
      const unreleased = await this.#letGo(unwanted);
      const missing = [...this.#wanted].filter((partition) => !this.#groups.partitions.has(partition));
      if (missing.length === 0) this.#trouble = undefined;
      if (unwanted.length + missing.length === 0) break;
      try {
        const { free, absent } = missing.length > 0 ? await this.#look(missing) : { free: [], absent: [] };
        if (free.length > 0) await this.#take(free);
        if (absent.length > 0) throw noRow(absent);
        if (unreleased !== undefined) throw unreleased;
        this.#trouble = undefined;
        this.#failures.clear();
        tries = 0;
        if (free.length < missing.length) await this.#clock.sleep(this.#parts.hearsRegistry() ? pollMs : deafPollMs);
      } catch (error) {
        this.#trouble = toLtsError(error);
        if (error !== unreleased) this.#tellFailure('take', error);
        await this.#clock.sleep(backoffMs(tries++, 100, 2_000));
      }
    }
    this.#running = false;
  }

  /** Those that no other live tracker holds, or holds for too long already; and those of which the store knows no owner, past or present. */
  async #look(missing: readonly number[]): Promise<{ free: number[]; absent: number[] }> {
    this.#opened ??= await this.#openStore();
    const holders = new Map((await this.#store.owners()).map(({ partition, incarnation }) => [partition, incarnation]));
    const now = this.#clock.monotonic();
    const free = missing.filter((partition) => {
      const holder = holders.get(partition);
      if (holder === undefined) return false;
      if (holder === '' || holder === this.#identity.incarnation) return true;
      if (!this.#parts.hearsRegistry()) return false;
      if (!this.#parts.isLive(holder)) return true;
      const since = this.#waitingSince.get(partition) ?? now;
      this.#waitingSince.set(partition, since);
      return now - since >= this.#parts.displaceAfterMs;
    });
    return { free, absent: missing.filter((partition) => !holders.has(partition)) };
  }

  /** All in one step of the store; each begins to work as soon as it is loaded. */
  async #take(partitions: number[]): Promise<void> {
    this.#log.info('owner.taking', { partitions: formatRanges(partitions) });
    const begun = this.#clock.monotonic();
    const held = await this.#store.take(partitions, this.#identity);
    for (const { partition, epoch } of held) {
      this.#epochs.set(partition, epoch);
      this.#waitingSince.delete(partition);
    }
    // A few at a time, so that they keep neither commits of what is owned already nor status waiting.
    const loadNext = async (): Promise<void> => {
      for (let next = held.shift(); next !== undefined; next = held.shift()) await this.#load(next, begun);
    };
    const [{ epoch } = { epoch: 0 }] = held;
    const loads = await Promise.allSettled(Array.from({ length: loadsAtOnce }, loadNext));
    const failed = loads.find((load) => load.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    this.#log.info('owner.taken', { partitions: formatRanges(partitions), epoch, tookMs: Math.round(this.#clock.monotonic() - begun) });
  }

  async #load(held: HeldEpoch, takenAt: number): Promise<void> {
    const rows = await this.#store.load(held.partition);
    // Assigned to another meanwhile: it is released without having been owned.
    if (!this.#wanted.has(held.partition)) return;
    this.#groups.adopt(held, rows);
    this.#groups.confirm([held], takenAt);
    this.#told.add(held.partition);
    this.#parts.events.adopted(held.partition, rows.schedules);
  }

  #tellDropped(partitions: readonly number[]): void {
    const told = partitions.filter((partition) => this.#told.delete(partition));
    if (told.length > 0) this.#parts.events.dropped(told);
  }

  async #openStore(): Promise<StoreIdentity> {
    const identity = await this.#store.open();
    this.#groups.total = identity.partitions;
    this.#log.info('store.opened', { ...identity });
    return identity;
  }

  /** Gives what kept the store from releasing them: until it does, their next owner would have to wait for the session time. */
  async #letGo(partitions: readonly number[]): Promise<LtsError | undefined> {
    if (partitions.length === 0) return undefined;
    const owned = partitions.flatMap((partition) => this.#groups.partitions.get(partition) ?? []);
    const begun = this.#clock.monotonic();
    for (const partition of owned) partition.leaving = true;
    if (owned.length > 0) await withDeadline(this.#parts.flushed(), flushWithinMs, 'flushing what is on its way', this.#clock).catch((error: unknown) => this.#log.warn('store.failed', { operation: 'flush', error }));
    const held = partitions.flatMap((partition) => {
      const epoch = this.#epochs.get(partition);
      return epoch === undefined ? [] : [{ partition, epoch }];
    });
    for (const { partition } of held) this.#groups.drop(partition);
    const released = this.#store.release(held);
    this.#tellDropped(partitions);
    try {
      await released;
      for (const { partition, epoch } of held) if (this.#epochs.get(partition) === epoch) this.#epochs.delete(partition);
      this.#log.info('owner.released', { partitions: formatRanges(held.map(({ partition }) => partition)), tookMs: Math.round(this.#clock.monotonic() - begun) });
      return undefined;
    } catch (error) {
      this.#tellFailure('release', error);
      return toLtsError(error);
    }
  }
}

/** Without its row a partition has no fence: nobody may own it, and a new row could give an epoch a second time. */
function noRow(partitions: readonly number[]): LtsError {
  return new LtsError('STORE_DAMAGED', `the store has no partition ${formatRanges(partitions)}: the row that tells its owner and epoch is gone, nobody can own it; restore the store from a backup, or put the row back with a higher epoch`);
}
