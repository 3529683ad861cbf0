/** Starts of runs; one of each at the same index. Times in milliseconds since 1970 UTC. */
export interface Starts {
  job: Float64Array;
  scheduledAt: Float64Array;
  startedAt: Float64Array;
}

/** What runs saw of themselves, millions of them. */
export class StartRecord {
  #values = new Float64Array(3 * 1_024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(job: number, scheduledAt: number, startedAt: number): void {
    const at = this.#length * 3;
    if (at === this.#values.length) {
      const grown = new Float64Array(at * 2);
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values[at] = job;
    this.#values[at + 1] = scheduledAt;
    this.#values[at + 2] = startedAt;
    this.#length += 1;
  }

  all(): Starts {
    const column = (offset: number): Float64Array => Float64Array.from({ length: this.#length }, (_, i) => this.#values[i * 3 + offset] ?? Number.NaN);
    return { job: column(0), scheduledAt: column(1), startedAt: column(2) };
  }
}
