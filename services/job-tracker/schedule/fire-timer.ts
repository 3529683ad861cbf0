import { toLtsError } from '../../../shared/errors/lts-error.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { Clock, Timer } from '../../../shared/time/clock.js';
import type { OwnedGroups, OwnedPartition } from '../queue/owned-groups.js';
import type { QueueStore, ScheduleRow } from '../queue/queue-store.js';
import { FireWindow, type UpcomingFire } from './fire-window.js';
import type { Firing } from './firing.js';

/** Fires are in memory so far ahead; they are read anew when half of that has passed. */
const horizonMs = 10_000;
/** The clock may jump: it is looked at again at least so often. */
const longestSleepMs = 1_000;
const retryMs = 500;
/** Fires in memory over all partitions; what goes beyond is left to the store again. */
const mostInMemory = 20_000;
const pageRows = 1_000;
/** Even when memory is full each partition has so many of its own. */
const fewestRows = 100;
const readsAtOnce = 4;
/** Runs and passed times on their way into the store: more would only wait. One fire may go beyond. */
const mostFiring = 2_000;

interface Owned {
  partition: OwnedPartition;
  window: FireWindow;
}

/**
 * Fires what is due. Memory holds only the next fires of each partition (fire-window.ts), read page by page; one timer
 * for all. Whoever changes a schedule tells it here when that is stored, in the order of the commits, so that no fire
 * falls between a read and a change.
 *
 * On failure of a fire, or of a read, it is tried again after 500 ms. A fire that the store does not take, because the
 * schedule is another by now, is dropped, and the schedule read again.
 */
export class FireTimer {
  readonly #groups: OwnedGroups;
  readonly #store: Pick<QueueStore, 'readSchedules' | 'readSchedule'>;
  readonly #firing: Firing;
  /** The schedule has no next time for now. */
  readonly #rests: (partition: number, row: ScheduleRow) => void;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #owned = new Map<number, Owned>();
  #timer: Timer | undefined;
  /** Monotonic. */
  #firesAt = Number.POSITIVE_INFINITY;
  #inFlight = 0;
  #reads = 0;

  constructor(parts: { groups: OwnedGroups; store: Pick<QueueStore, 'readSchedules' | 'readSchedule'>; firing: Firing; rests: (partition: number, row: ScheduleRow) => void; clock: Clock; log: Logger }) {
    this.#groups = parts.groups;
    this.#store = parts.store;
    this.#firing = parts.firing;
    this.#rests = parts.rests;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /** The partition is loaded: its fires are read. */
  adopted(number: number): void {
    const partition = this.#groups.partitions.get(number);
    if (partition === undefined) return;
    this.#owned.set(number, { partition, window: new FireWindow() });
    this.arm();
  }

  /** Forgets what is not owned any more. */
  dropped(): void {
    for (const [number, owned] of this.#owned) if (!this.#isCurrent(owned)) this.#owned.delete(number);
  }

  /** The schedule stands so from now on. */
  put(partition: number, row: ScheduleRow): void {
    const owned = this.#owned.get(partition);
    if (owned === undefined) return;
    owned.window.put(row);
    const tooMany = this.#inMemory() - mostInMemory;
    if (tooMany >= fewestRows) owned.window.shrink(Math.min(tooMany, owned.window.size - fewestRows));
    this.arm();
  }

  /** The schedule does not fire any more. */
  remove(partition: number, nodeGroup: string, taskId: string): void {
    this.#owned.get(partition)?.window.remove(nodeGroup, taskId);
  }

  /** Whether the next fire of this schedule is known, or rightly left to the store. */
  knows(partition: number, row: ScheduleRow): boolean {
    return this.#owned.get(partition)?.window.knows(row) ?? true;
  }

  /** Reads the schedule again, as what is known of it is in doubt. */
  readAgain(partition: number, nodeGroup: string, taskId: string): void {
    const owned = this.#owned.get(partition);
    if (owned === undefined) return;
    this.#store.readSchedule(nodeGroup, taskId).then(
      (row) => {
        if (!this.#isCurrent(owned)) return;
        if (row === undefined) return this.remove(partition, nodeGroup, taskId);
        if (row.state === 'ACTIVE' && row.nextAt === undefined) this.#rests(partition, row);
        this.put(partition, row);
      },
      (error: unknown) => {
        this.#tellFailure('read a schedule', error);
        this.#clock.after(retryMs, () => this.#isCurrent(owned) && this.readAgain(partition, nodeGroup, taskId), { unref: true });
      },
    );
  }

  /** Looks at all partitions: reads what is to be read, and sleeps until the first fire. */
  arm(): void {
    if (this.#owned.size === 0) return;
    const now = this.#clock.now();
    let next = now + longestSleepMs;
    for (const owned of this.#owned.values()) {
      if (!this.#isOpen(owned)) continue;
      this.#readAhead(owned, now);
      const first = owned.window.first();
      if (first !== undefined && this.#inFlight < mostFiring) next = Math.min(next, first.row.nextAt);
    }
    const delayMs = Math.max(next - now, 0);
    const firesAt = this.#clock.monotonic() + delayMs;
    if (this.#timer !== undefined && this.#firesAt <= firesAt) return;
    this.#timer?.cancel();
    this.#firesAt = firesAt;
    this.#timer = this.#clock.after(delayMs, () => this.#fireDue(), { unref: true });
  }

  #fireDue(): void {
    this.#timer = undefined;
    this.#firesAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    for (const owned of this.#owned.values()) {
      if (!this.#isOpen(owned)) continue;
      for (let first = owned.window.first(); first !== undefined && first.row.nextAt <= now && this.#inFlight < mostFiring; first = owned.window.first()) {
        owned.window.shift();
        this.#fire(owned, first);
      }
    }
    this.arm();
  }

  #fire(owned: Owned, due: UpcomingFire): void {
    const { partition, window } = owned;
    let rows = 1;
    this.#inFlight += rows;
    const settled = (next: ScheduleRow | undefined, applied: boolean, error: unknown): void => {
      const wasFull = this.#inFlight >= mostFiring;
      this.#inFlight -= rows;
      if (this.#isCurrent(owned) && window.isCurrent(due)) {
        if (error !== undefined) this.#fireAgain(owned, due);
        else this.#moved(partition.partition, due.row, next, applied);
      }
      if (wasFull) this.arm();
    };
    try {
      rows = Math.max(1, this.#firing.fire(partition, due.row, (next, outcome, error) => settled(next, outcome?.applied === true, error)));
      this.#inFlight += rows - 1;
    } catch (error) {
      // One plan that cannot be read must not keep the others from firing.
      this.#tellFailure(`fire ${due.row.taskId} of ${due.row.nodeGroup}`, error);
      settled(undefined, false, error);
    }
  }

  #moved(partition: number, { nodeGroup, taskId }: ScheduleRow, next: ScheduleRow | undefined, applied: boolean): void {
    if (!applied) this.readAgain(partition, nodeGroup, taskId);
    if (next === undefined) return this.remove(partition, nodeGroup, taskId);
    this.put(partition, next);
    if (next.nextAt === undefined) this.#rests(partition, next);
  }

  #fireAgain(owned: Owned, due: UpcomingFire): void {
    due.state = 'resting';
    this.#clock.after(retryMs, () => {
      if (!this.#isCurrent(owned)) return;
      owned.window.again(due);
      this.arm();
    }, { unref: true });
  }

  #readAhead(owned: Owned, now: number): void {
    const { window, partition } = owned;
    if (window.reading || window.reach >= now + horizonMs / 2 || this.#reads >= readsAtOnce) return;
    const room = mostInMemory - this.#inMemory();
    if (window.size >= fewestRows && room < pageRows) return;
    const until = now + horizonMs;
    const limit = Math.max(fewestRows, Math.min(pageRows, room));
    this.#reads++;
    this.#store.readSchedules(partition.partition, window.beginRead(until), until, limit).then(
      (rows) => {
        this.#reads--;
        if (this.#isCurrent(owned)) window.endRead(rows, limit);
        this.arm();
      },
      (error: unknown) => {
        this.#tellFailure('read schedules', error);
        this.#clock.after(retryMs, () => {
          this.#reads--;
          window.failRead();
          this.arm();
        }, { unref: true });
      },
    );
  }

  #inMemory(): number {
    let rows = 0;
    for (const { window } of this.#owned.values()) rows += window.size;
    return rows;
  }

  /** Neither lost nor loaded anew meanwhile. */
  #isCurrent({ partition }: Owned): boolean {
    return this.#groups.partitions.get(partition.partition) === partition;
  }

  #isOpen(owned: Owned): boolean {
    return this.#isCurrent(owned) && !owned.partition.leaving;
  }

  #tellFailure(operation: string, error: unknown): void {
    const { reason, message } = toLtsError(error);
    this.#log.warn('store.failed', { operation, reason, ...(reason === 'INTERNAL' ? { error } : { why: message }) });
  }
}
