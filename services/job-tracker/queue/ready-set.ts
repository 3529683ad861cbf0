import { FurtherRows } from './further-rows.js';
import type { ReadyKey, ReadyRow } from './queue-store.js';
import { compareReady } from './ready-key.js';

const never = (): boolean => false;

/**
 * The ready rows of one group that are in memory: always a prefix of the stored order, at most `capacity` of them.
 * What arrives behind the boundary of a set that is not complete stays in the store; what arrives before it pushes the
 * tail out. `further` holds a few rows behind the boundary, for workers that can run nothing of what is before it.
 */
export class ReadySet {
  /** Sorted; the live part begins at #head, so that taking the first one costs nothing. */
  #rows: ReadyRow[] = [];
  #head = 0;
  /** All stored rows up to here have been seen; undefined: from the start of the order. */
  #boundary: ReadyKey | undefined;
  #complete: boolean;
  readonly #most: number;
  #capacity: number;
  #generation = 0;
  readonly further = new FurtherRows();

  /**
   * @param most capacity that it never exceeds
   * @param complete whether the store has no ready rows of this group yet
   */
  constructor(most: number, complete: boolean) {
    this.#most = most;
    this.#capacity = most;
    this.#complete = complete;
  }

  get size(): number {
    return this.#rows.length - this.#head;
  }

  /** Whether all ready rows of the store are in memory, but for those that are on their way. */
  get whole(): boolean {
    return this.#complete;
  }

  /** Where the next read from the store goes on. */
  get boundary(): ReadyKey | undefined {
    return this.#boundary;
  }

  /** Changes with `reset`: what an earlier read brings then has no place any more. */
  get generation(): number {
    return this.#generation;
  }

  /** How many rows the next read should bring; 0 while there are enough. */
  get wanted(): number {
    return this.#complete || this.size > this.#capacity / 4 ? 0 : Math.max(1, this.#capacity - this.size);
  }

  /** Rows that became ready now. */
  insert(row: ReadyRow): void {
    if (!this.#complete && (this.#boundary === undefined || compareReady(row, this.#boundary) > 0)) return this.further.insert(row);
    this.#place(row);
    this.#trim();
  }

  /** Holds no more than so many from now on, 1 at least. */
  resize(capacity: number): void {
    this.#capacity = Math.min(this.#most, capacity);
    this.#trim();
  }

  /** What a read behind the boundary brought; fewer than were asked for means that there are no more. Those of halted tasks are passed over. */
  refill(rows: readonly ReadyRow[], asked: number, generation: number, isHalted: (row: ReadyRow) => boolean = never): void {
    if (generation !== this.#generation) return;
    for (const row of rows) {
      if (isHalted(row)) continue;
      this.further.remove(row.seq);
      this.#place(row);
    }
    const last = rows[rows.length - 1];
    if (last !== undefined) this.#boundary = last;
    if (rows.length < asked) this.#complete = true;
  }

  first(): ReadyRow | undefined {
    return this.#rows[this.#head];
  }

  /** Takes the first row out. */
  shift(): ReadyRow | undefined {
    const row = this.#rows[this.#head];
    if (row !== undefined) this.#skip();
    return row;
  }

  /** Takes the first row out that `accepts`. */
  shiftWhere(accepts: (row: ReadyRow) => boolean): ReadyRow | undefined {
    for (let at = this.#head; at < this.#rows.length; at++) {
      const row = this.#rows[at] as ReadyRow;
      if (!accepts(row)) continue;
      if (at === this.#head) this.#skip();
      else this.#rows.splice(at, 1);
      return row;
    }
    return this.further.shiftWhere(accepts);
  }

  /** Takes one row out wherever it is; false when it is not in memory. */
  remove(seq: number): boolean {
    const at = this.#rows.findIndex((row, index) => index >= this.#head && row.seq === seq);
    if (at < 0) return this.further.remove(seq);
    this.#rows.splice(at, 1);
    return true;
  }

  /** Forgets all rows: the next read begins at the start of the order. */
  reset(): void {
    this.#rows = [];
    this.#head = 0;
    this.#boundary = undefined;
    this.#complete = false;
    this.further.reset();
    this.#generation++;
  }

  /** How many rows in memory come before this one. */
  countBefore(key: ReadyKey): number {
    return this.#position(key) - this.#head;
  }

  #trim(): void {
    if (this.size <= this.#capacity) return;
    const evicted = this.#rows.splice(this.#head + this.#capacity);
    this.#complete = false;
    this.#boundary = this.#rows[this.#rows.length - 1];
    for (const row of evicted) this.further.insert(row);
  }

  #skip(): void {
    this.#head++;
    if (this.#head <= 512 || this.#head * 2 <= this.#rows.length) return;
    this.#rows = this.#rows.slice(this.#head);
    this.#head = 0;
  }

  #place(row: ReadyRow): void {
    const last = this.#rows[this.#rows.length - 1];
    if (this.size === 0 || last === undefined || compareReady(last, row) < 0) this.#rows.push(row);
    else this.#rows.splice(this.#position(row), 0, row);
  }

  #position(key: ReadyKey): number {
    let low = this.#head;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareReady(this.#rows[middle] as ReadyRow, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
