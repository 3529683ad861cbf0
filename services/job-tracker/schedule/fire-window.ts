import type { ScheduleKey, ScheduleRow } from '../queue/queue-store.js';
import { taskName } from './guarded-runs.js';

/** A schedule that fires. */
export type FiringRow = ScheduleRow & { nextAt: number };

/** A schedule whose fire is near. */
export interface UpcomingFire {
  readonly row: FiringRow;
  state: 'queued' | 'firing';
}

/** Whether it has a next fire. */
export function isFiring(row: ScheduleRow): row is FiringRow {
  return row.state === 'ACTIVE' && row.nextAt !== undefined;
}

/** Below 0: a fires before b. */
function compareFires(a: ScheduleKey, b: ScheduleKey): number {
  return a.nextAt - b.nextAt || a.sched - b.sched;
}

/**
 * The next fires of one partition, read in the stored order: every ACTIVE schedule up to the frontier is here, what is
 * beyond it stays in the store. Where it begins is up to its owner (`skipTo`). Changes come in the order of their commits.
 * What changes while a read is on its way is newer than what the read brings.
 */
export class FireWindow {
  /** Sorted; the live part begins at #head. */
  #queue: UpcomingFire[] = [];
  #head = 0;
  readonly #byTask = new Map<string, UpcomingFire>();
  #frontier: ScheduleKey | undefined;
  /** While a read is on its way: until when it reads, and what has changed since. */
  #reading: { until: number; touched: Set<string> } | undefined;

  /** Queued fires. */
  get size(): number {
    return this.#queue.length - this.#head;
  }

  /** All fires up to this time are here. */
  get reach(): number {
    return this.#frontier?.nextAt ?? Number.NEGATIVE_INFINITY;
  }

  get reading(): boolean {
    return this.#reading !== undefined;
  }

  has(name: string): boolean {
    return this.#byTask.has(name);
  }

  first(): UpcomingFire | undefined {
    return this.#queue[this.#head];
  }

  /** Takes the first one out to be fired; it stays known until `settled`. */
  shift(): UpcomingFire | undefined {
    const first = this.#queue[this.#head];
    if (first === undefined) return undefined;
    first.state = 'firing';
    if (++this.#head > 512 && this.#head * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
    return first;
  }

  /** The schedule stands so from now on. */
  put(row: ScheduleRow): void {
    this.remove(row.nodeGroup, row.taskId);
    if (isFiring(row)) this.#enter(row);
  }

  /** The schedule does not fire any more. */
  remove(nodeGroup: string, taskId: string): void {
    const name = taskName(nodeGroup, taskId);
    this.#reading?.touched.add(name);
    const known = this.#byTask.get(name);
    if (known === undefined) return;
    this.#byTask.delete(name);
    if (known.state === 'queued') this.#queue.splice(this.#position(known.row), 1);
  }

  /** Whether nothing newer has been told of the schedule since it was taken out. */
  isCurrent(fire: UpcomingFire): boolean {
    return this.#byTask.get(taskName(fire.row.nodeGroup, fire.row.taskId)) === fire;
  }

  /** Whether the next fire of this schedule is known, or rightly left to the store. */
  knows(row: ScheduleRow): boolean {
    const { nodeGroup, taskId, nextAt, version } = row;
    if (!isFiring(row) || !this.#isNear(row)) return true;
    const known = this.#byTask.get(taskName(nodeGroup, taskId))?.row;
    return known !== undefined && known.nextAt === nextAt && known.version === version;
  }

  /** Takes no interest in what comes until then, unless it is here already. Not while a read is on its way. */
  skipTo(nextAt: number): void {
    this.#frontier = { nextAt, sched: Number.MAX_SAFE_INTEGER };
  }

  /** A read is on its way; gives where it goes on. */
  beginRead(until: number): ScheduleKey | undefined {
    this.#reading = { until, touched: new Set() };
    return this.#frontier;
  }

  /**
   * What it brought; fewer than were asked for means that there are no more until then.
   *
   * @param takes told of each one that is news; false: it is not for here
   */
  endRead(rows: readonly ScheduleRow[], asked: number, takes: (row: FiringRow) => boolean = () => true): void {
    const reading = this.#reading;
    if (reading === undefined) return;
    const last = rows.at(-1);
    const isFull = rows.length >= asked && last !== undefined && isFiring(last);
    this.#frontier = isFull ? { nextAt: last.nextAt, sched: last.sched } : { nextAt: reading.until, sched: Number.MAX_SAFE_INTEGER };
    this.#reading = undefined;
    for (const row of rows) {
      const name = taskName(row.nodeGroup, row.taskId);
      if (isFiring(row) && !reading.touched.has(name) && !this.#byTask.has(name) && takes(row)) this.#enter(row);
    }
    this.#trim();
  }

  /** The read came to nothing: what entered because of it is behind the frontier. */
  failRead(): void {
    this.#reading = undefined;
    this.#trim();
  }

  /** Leaves the last ones to the store, as many as that. */
  shrink(by: number): void {
    if (this.#reading !== undefined) return;
    for (let left = by; left > 0 && this.size > 0; left--) {
      const { nextAt, sched } = (this.#queue.at(-1) as UpcomingFire).row;
      this.#dropLast();
      this.#frontier = { nextAt, sched: sched - 1 };
    }
  }

  #trim(): void {
    for (let tail = this.#queue.at(-1); this.size > 0 && tail !== undefined && !this.#isNear(tail.row); tail = this.#queue.at(-1)) this.#dropLast();
  }

  #dropLast(): void {
    const last = this.#queue.pop();
    if (last !== undefined) this.#byTask.delete(taskName(last.row.nodeGroup, last.row.taskId));
  }

  #isNear(key: ScheduleKey): boolean {
    if (this.#reading !== undefined && key.nextAt <= this.#reading.until) return true;
    return this.#frontier !== undefined && compareFires(key, this.#frontier) <= 0;
  }

  #enter(row: FiringRow): void {
    if (!this.#isNear(row)) return;
    const fire: UpcomingFire = { row, state: 'queued' };
    this.#byTask.set(taskName(row.nodeGroup, row.taskId), fire);
    this.#place(fire);
  }

  #place(fire: UpcomingFire): void {
    const last = this.#queue.at(-1);
    if (this.size === 0 || last === undefined || compareFires(last.row, fire.row) < 0) this.#queue.push(fire);
    else this.#queue.splice(this.#position(fire.row), 0, fire);
  }

  #position(key: ScheduleKey): number {
    let low = this.#head;
    let high = this.#queue.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareFires((this.#queue[middle] as UpcomingFire).row, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
