import { FairQueue, type Queued } from '../queue/fair-queue.js';
import type { UpcomingFire } from './fire-window.js';

/** A schedule that is behind, and whose it is. */
export interface Turn<T> extends Queued {
  of: T;
  fire: UpcomingFire;
}

/** What one look at the queue takes: each group has its share of it. */
const atOnce = 100;

/** Schedules that are behind, of all partitions: the groups take turns, and the schedules of one group too. */
export class Turns<T> {
  readonly #queue = new FairQueue<Turn<T>>(atOnce, Number.POSITIVE_INFINITY);
  /** The last one comes first. */
  #taken: Turn<T>[] = [];
  #given = 0;

  get length(): number {
    return this.#queue.length + this.#taken.length;
  }

  push(of: T, fire: UpcomingFire): void {
    this.#queue.push({ of, fire, lane: fire.row.nodeGroup, bytes: 0, order: this.#given++ });
  }

  next(): Turn<T> | undefined {
    if (this.#taken.length === 0) this.#taken = this.#queue.take().reverse();
    return this.#taken.pop();
  }
}
