import type { ReadyKey, ReadyRow } from './queue-store.js';
import { compareReady } from './ready-key.js';

/** Rows that are held here, and rows that one read looks at. */
const mostRows = 256;
const readRows = 512;

/**
 * Ready rows of a group behind those in memory, for workers that run some types only: a ready set that is full of what
 * nobody free can run must not hide what somebody could. A cursor goes on behind the boundary of the ready set and keeps
 * the rows of all types but the passed ones: types for which no worker was free when they came along. Every row is read
 * here at most once, until a worker for a passed type finds nothing: then the cursor begins anew.
 *
 * What the boundary of the ready set goes past moves there: a row is in one of them at most.
 */
export class FurtherRows {
  /** Sorted. */
  #rows: ReadyRow[] = [];
  /** All rows of types that are not passed have been seen up to here; undefined: the cursor stands at the boundary of the ready set. */
  #cursor: ReadyKey | undefined;
  #complete = false;
  /** By type, the first row that was passed: from there on all of its type stay in the store. */
  readonly #passed = new Map<string, ReadyKey>();
  #generation = 0;

  /** Takes the first row out that `accepts`. */
  shiftWhere(accepts: (row: ReadyRow) => boolean): ReadyRow | undefined {
    const at = this.#rows.findIndex(accepts);
    return at < 0 ? undefined : this.#rows.splice(at, 1)[0];
  }

  /** A row that became ready behind the boundary of the ready set. */
  insert(row: ReadyRow): void {
    const seen = this.#complete || (this.#cursor !== undefined && compareReady(row, this.#cursor) < 0);
    if (!seen || this.#isPassed(row)) return;
    if (this.#rows.length < mostRows) this.#place(row);
    else this.#pass(row);
  }

  /** Takes one row out; false when it is not here. */
  remove(seq: number): boolean {
    const at = this.#rows.findIndex((row) => row.seq === seq);
    if (at >= 0) this.#rows.splice(at, 1);
    return at >= 0;
  }

  /** Forgets all: the cursor begins anew. */
  reset(): void {
    this.#rows = [];
    this.#cursor = undefined;
    this.#complete = false;
    this.#passed.clear();
    this.#generation++;
  }

  /**
   * A free worker found nothing: the read to be made, or undefined when there is nothing more to look at.
   * `isFree`: whether a worker for the type is free.
   */
  next(ready: { readonly boundary: ReadyKey | undefined; readonly whole: boolean }, isFree: (type: string) => boolean): FurtherRead | undefined {
    if (ready.whole) return undefined;
    if ([...this.#passed.keys()].some(isFree)) this.reset();
    if (this.#complete) return undefined;
    if (this.#rows.length >= mostRows) {
      // They were kept for workers that are busy by now.
      for (const row of this.#rows) this.#pass(row);
      this.#rows = [];
    }
    const { boundary } = ready;
    const behind = this.#cursor !== undefined && (boundary === undefined || compareReady(boundary, this.#cursor) < 0);
    return { after: behind ? this.#cursor : boundary, limit: readRows, generation: this.#generation };
  }

  /** What that read brought, without those of halted tasks. True: something that a free worker runs. */
  found(rows: readonly ReadyRow[], read: FurtherRead, isFree: (type: string) => boolean, isHalted: (row: ReadyRow) => boolean = () => false): boolean {
    if (read.generation !== this.#generation) return false;
    for (const row of rows) {
      if (!this.#isPassed(row) && !isHalted(row)) {
        if (!isFree(row.type)) this.#pass(row);
        else if (this.#rows.length < mostRows) this.#place(row);
        else return true;
      }
      this.#cursor = row;
    }
    if (rows.length < read.limit) this.#complete = true;
    return this.#rows.length > 0;
  }

  #pass(row: ReadyRow): void {
    const from = this.#passed.get(row.type);
    if (from === undefined || compareReady(row, from) < 0) this.#passed.set(row.type, row);
  }

  #isPassed(row: ReadyRow): boolean {
    const from = this.#passed.get(row.type);
    return from !== undefined && compareReady(row, from) >= 0;
  }

  #place(row: ReadyRow): void {
    let at = this.#rows.length;
    while (at > 0 && compareReady(row, this.#rows[at - 1] as ReadyRow) < 0) at--;
    this.#rows.splice(at, 0, row);
  }
}

/** A read of ready rows behind a key. */
export interface FurtherRead {
  after: ReadyKey | undefined;
  limit: number;
  generation: number;
}
