/** What never changes of an instance, and where its ready row is. */
export interface Facts {
  partition: number;
  groupId: number;
  taskId: string;
  priority: number;
  /** A hint: a retry moves it. */
  dueAt: number;
  /** The JobClient group to which the result is owed; 0: none. */
  clientId: number;
}

/**
 * Spares two look-ups per run. Only a hint: every statement that uses it checks the stored row, and a miss is read from
 * the tables. Bounded: when the young half is full, the old half is forgotten.
 */
export class FactsCache {
  readonly #half: number;
  #young = new Map<number, Facts>();
  #old = new Map<number, Facts>();

  constructor(limit = 65_536) {
    this.#half = limit / 2;
  }

  get(seq: number): Facts | undefined {
    return this.#young.get(seq) ?? this.#old.get(seq);
  }

  set(seq: number, facts: Facts): void {
    if (this.#young.size >= this.#half) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(seq, facts);
  }

  delete(seq: number): void {
    this.#young.delete(seq);
    this.#old.delete(seq);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
