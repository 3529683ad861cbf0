import { toLtsError } from '../../../shared/errors/lts-error.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { Clock, Timer } from '../../../shared/time/clock.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { QueueStore, ScheduleRow } from '../queue/queue-store.js';
import type { UpcomingFire } from './fire-window.js';
import type { Firing } from './firing.js';
import { mostBehind, PartitionFires } from './partition-fires.js';
import { Turns } from './turns.js';

/** Fires are in memory so far ahead; they are read anew when half of that has passed. */
const horizonMs = 10_000;
/** The clock may jump: it is looked at again at least so often. */
const longestSleepMs = 1_000;
const retryMs = 500;
/** Fires to come that are in memory, over all partitions; what goes beyond is left to the store again. */
const mostInMemory = 10_000;
const pageRows = 1_000;
/** Even when memory is full each partition has so many of its own. */
const fewestRows = 100;
const readsAtOnce = 4;
/** Runs and passed times on their way into the store, of what is on time and as many of what is behind: more would only wait. One fire may go beyond. */
const mostFiring = 2_000;
/** Then others have the loop for a moment. Monotonic milliseconds. */
const longestTurnMs = 10;

/**
 * Fires what is due. Memory holds only the next fires of each partition (partition-fires.ts), read page by page; one timer
 * for all. What comes due on time goes first, and has its own room on the way into the store; what is behind its time
 * takes turns by group. Whoever changes a schedule tells it here when that is stored, in the order of the commits, so that no fire
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
  readonly #turns = new Turns<PartitionFires>();
  readonly #owned = new Map<number, PartitionFires>();
  #timer: Timer | undefined;
  /** Monotonic. */
  #firesAt = Number.POSITIVE_INFINITY;
  readonly #inFlight = { onTime: 0, behind: 0 };
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
    this.#owned.set(number, new PartitionFires(partition, this.#turns));
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
    owned.put(row, this.#clock.now());
    const tooMany = this.#inMemory() - mostInMemory;
    if (tooMany >= fewestRows) owned.window.shrink(Math.min(tooMany, owned.window.size - fewestRows));
    this.arm();
  }

  /** The schedule does not fire any more. */
  remove(partition: number, nodeGroup: string, taskId: string): void {
    this.#owned.get(partition)?.remove(nodeGroup, taskId);
  }

  /** Whether the next fire of this schedule is known, or rightly left to the store. */
  knows(partition: number, row: ScheduleRow): boolean {
    return this.#owned.get(partition)?.knows(row) ?? true;
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
      if (first !== undefined && this.#inFlight.onTime < mostFiring) next = Math.min(next, first.row.nextAt);
    }
    for (const owned of this.#owned.values()) if (this.#isOpen(owned)) this.#readBehind(owned, now);
    if (this.#turns.length > 0 && this.#inFlight.behind < mostFiring) next = now;
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
    const until = this.#clock.monotonic() + longestTurnMs;
    for (const owned of this.#owned.values()) if (this.#isOpen(owned)) this.#fireOnTime(owned, now, until);
    // At least one of them in each turn.
    do if (!this.#fireBehind(now)) break;
    while (this.#clock.monotonic() < until);
    this.arm();
  }

  #fireOnTime(owned: PartitionFires, now: number, until: number): void {
    owned.sortOutLate(now);
    for (let first = owned.window.first(); first !== undefined && first.row.nextAt <= now; first = owned.window.first()) {
      if (this.#inFlight.onTime >= mostFiring || this.#clock.monotonic() >= until) return;
      owned.window.shift();
      this.#fire(owned, first, 'onTime');
    }
  }

  /** Fires the one whose turn it is. False: there is none, or no room for it. */
  #fireBehind(now: number): boolean {
    if (this.#inFlight.behind >= mostFiring) return false;
    const turn = this.#turns.next();
    if (turn === undefined) return false;
    const { of: owned, fire } = turn;
    if (!this.#isCurrent(owned) || !owned.late.isCurrent(fire)) return true;
    if (owned.partition.leaving) owned.leave(fire);
    // The clock may have been set back.
    else if (fire.row.nextAt > now) owned.put(fire.row, now);
    else this.#fire(owned, fire, 'behind');
    return true;
  }

  #fire(owned: PartitionFires, due: UpcomingFire, room: 'onTime' | 'behind'): void {
    const { partition } = owned;
    let rows = 1;
    this.#inFlight[room] += rows;
    const settled = (next: ScheduleRow | undefined, applied: boolean, error: unknown): void => {
      const wasFull = this.#inFlight[room] >= mostFiring;
      this.#inFlight[room] -= rows;
      if (this.#isCurrent(owned) && owned.isCurrent(due)) {
        if (error !== undefined) this.#fireAgain(owned, due);
        else this.#moved(partition.partition, due.row, next, applied);
      }
      if (wasFull) this.arm();
    };
    try {
      rows = Math.max(1, this.#firing.fire(partition, due.row, (next, outcome, error) => settled(next, outcome?.applied === true, error)));
      this.#inFlight[room] += rows - 1;
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

  #fireAgain(owned: PartitionFires, due: UpcomingFire): void {
    this.#clock.after(retryMs, () => {
      if (!this.#isCurrent(owned) || !owned.isCurrent(due)) return;
      owned.put(due.row, this.#clock.now());
      this.arm();
    }, { unref: true });
  }

  #readAhead(owned: PartitionFires, now: number): void {
    owned.skipLate(now);
    const { window, partition } = owned;
    if (window.reading || window.reach >= now + horizonMs / 2 || this.#reads >= readsAtOnce) return;
    const room = mostInMemory - this.#inMemory();
    if (window.size >= fewestRows && room < pageRows) return;
    const until = now + horizonMs;
    const limit = Math.max(fewestRows, Math.min(pageRows, room));
    this.#read(owned, this.#store.readSchedules(partition.partition, window.beginRead(until), until, limit), window, (rows) => owned.endRead(rows, limit, this.#clock.now()));
  }

  #readBehind(owned: PartitionFires, now: number): void {
    const { late, partition } = owned;
    if (!late.wantsRead || this.#reads >= readsAtOnce || this.#turns.length > mostBehind - pageRows) return;
    // The others have their turn before it reads again.
    this.#owned.delete(partition.partition);
    this.#owned.set(partition.partition, owned);
    const { after, until } = late.beginRead(now);
    this.#read(owned, this.#store.readSchedules(partition.partition, after, until, pageRows), late, (rows) => owned.endReadBehind(rows, pageRows, this.#clock.now()));
  }

  #read(owned: PartitionFires, page: Promise<ScheduleRow[]>, reader: { failRead(): void }, came: (rows: ScheduleRow[]) => void): void {
    this.#reads++;
    page.then(
      (rows) => {
        this.#reads--;
        if (this.#isCurrent(owned)) came(rows);
        this.arm();
      },
      (error: unknown) => {
        this.#tellFailure('read schedules', error);
        this.#clock.after(retryMs, () => {
          this.#reads--;
          reader.failRead();
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
  #isCurrent({ partition }: PartitionFires): boolean {
    return this.#groups.partitions.get(partition.partition) === partition;
  }

  #isOpen(owned: PartitionFires): boolean {
    return this.#isCurrent(owned) && !owned.partition.leaving;
  }

  #tellFailure(operation: string, error: unknown): void {
    const { reason, message } = toLtsError(error);
    this.#log.warn('store.failed', { operation, reason, ...(reason === 'INTERNAL' ? { error } : { why: message }) });
  }
}
