/** Something that waits in a lane. */
export interface Queued {
  lane: string;
  bytes: number;
  /** Grows with every item. */
  order: number;
}

interface Lane<T> {
  items: T[];
  /** The live part begins here, so that taking the first one costs nothing. */
  head: number;
}

/**
 * What waits for its turn. As long as all of it fits into one batch it is one line, in the order in which it came. A
 * longer queue has lanes that take turns: every lane has its share of each batch, so that a long one does not hold up
 * the others. Within a lane the order stays.
 */
export class FairQueue<T extends Queued> {
  readonly #mostItems: number;
  readonly #mostBytes: number;
  #line: T[] = [];
  /** Undefined: all of it is in the line. The lane whose turn it is comes first; none is empty. */
  #lanes: Map<string, Lane<T>> | undefined;
  #length = 0;
  #bytes = 0;

  /**
   * @param mostItems of a batch
   * @param mostBytes of a batch; a larger item is a batch of its own
   */
  constructor(mostItems: number, mostBytes: number) {
    this.#mostItems = mostItems;
    this.#mostBytes = mostBytes;
  }

  get length(): number {
    return this.#length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(item: T): void {
    this.#length++;
    this.#bytes += item.bytes;
    if (this.#lanes !== undefined) return this.#enter(this.#lanes, item);
    this.#line.push(item);
    if (this.#length <= this.#mostItems && this.#bytes <= this.#mostBytes) return;
    this.#lanes = new Map();
    for (const each of this.#line) this.#enter(this.#lanes, each);
    this.#line = [];
  }

  /** The next batch. */
  take(): T[] {
    const taken = this.#lanes === undefined ? this.#line : this.#takeTurns(this.#lanes);
    if (this.#lanes === undefined) this.#line = [];
    else if (this.#lanes.size === 0) this.#lanes = undefined;
    this.#length -= taken.length;
    for (const { bytes } of taken) this.#bytes -= bytes;
    return taken;
  }

  /** Whether the lane holds at least as much as the average one. */
  isLong(lane: string): boolean {
    if (this.#lanes === undefined) return this.#line.some((item) => item.lane === lane);
    const { items, head } = this.#lanes.get(lane) ?? { items: [], head: 0 };
    return (items.length - head) * this.#lanes.size >= this.#length;
  }

  /** The smallest order that is still here. */
  get oldest(): number {
    if (this.#lanes === undefined) return this.#line[0]?.order ?? Infinity;
    let oldest = Infinity;
    for (const { items, head } of this.#lanes.values()) oldest = Math.min(oldest, (items[head] as T).order);
    return oldest;
  }

  #enter(lanes: Map<string, Lane<T>>, item: T): void {
    const lane = lanes.get(item.lane);
    if (lane === undefined) lanes.set(item.lane, { items: [item], head: 0 });
    else lane.items.push(item);
  }

  #takeTurns(lanes: Map<string, Lane<T>>): T[] {
    const share = Math.max(1, Math.floor(this.#mostItems / lanes.size));
    const taken: T[] = [];
    let bytes = 0;
    for (const [name, lane] of lanes) {
      const from = lane.head;
      const until = Math.min(lane.items.length, from + share, from + this.#mostItems - taken.length);
      for (; lane.head < until; lane.head++) {
        const item = lane.items[lane.head] as T;
        if (taken.length > 0 && bytes + item.bytes > this.#mostBytes) break;
        bytes += item.bytes;
        taken.push(item);
      }
      const isFull = taken.length === this.#mostItems || lane.head < until;
      // Whoever had nothing of this batch has the first turn of the next one.
      if (lane.head > from) this.#toTheEnd(lanes, name, lane);
      if (isFull) break;
    }
    return taken;
  }

  /** A Map goes on to what is put in while it is walked: whoever has more comes round again. */
  #toTheEnd(lanes: Map<string, Lane<T>>, name: string, lane: Lane<T>): void {
    lanes.delete(name);
    if (lane.head === lane.items.length) return;
    if (lane.head > 1_024 && lane.head * 2 > lane.items.length) {
      lane.items = lane.items.slice(lane.head);
      lane.head = 0;
    }
    lanes.set(name, lane);
  }
}
