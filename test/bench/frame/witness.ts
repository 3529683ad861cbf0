import { machineNow } from './machine-clock.js';

/** What the tasks themselves saw; index = job number. */
export interface WitnessRecord {
  /** When each job's first run began, by the machine's clock; 0 when it never ran. */
  startedAt: Float64Array;
  /** How many times each job ran. */
  runs: Uint16Array;
}

/** Counts runs by job number in the worker's process, whatever the job system believes. */
export class Witness {
  #startedAt = new Float64Array(1_024);
  #counts = new Uint16Array(1_024);
  #distinct = 0;
  #runs = 0;
  #wanted = Number.POSITIVE_INFINITY;
  #wake: (() => void) | undefined;

  /** Different jobs that ran. */
  get distinct(): number {
    return this.#distinct;
  }

  /** All runs, repeated ones too. */
  get runs(): number {
    return this.#runs;
  }

  ran(jobNumber: number): void {
    if (!Number.isInteger(jobNumber) || jobNumber < 0) throw new Error(`a task ran with job number ${jobNumber}, which no producer made`);
    if (jobNumber >= this.#counts.length) this.#grow(jobNumber + 1);
    this.#runs += 1;
    const before = this.#counts[jobNumber] ?? 0;
    this.#counts[jobNumber] = before + 1;
    if (before > 0) return;
    this.#startedAt[jobNumber] = machineNow();
    this.#distinct += 1;
    if (this.#distinct >= this.#wanted) this.#wake?.();
  }

  /** Resolves when so many different jobs ran. One waits at a time: a later call takes the place of the earlier one. */
  reached(count: number): Promise<void> {
    if (this.#distinct >= count) return Promise.resolve();
    this.#wanted = count;
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  record(): WitnessRecord {
    return { startedAt: this.#startedAt, runs: this.#counts };
  }

  #grow(atLeast: number): void {
    const size = Math.max(atLeast, this.#counts.length * 2);
    const startedAt = new Float64Array(size);
    startedAt.set(this.#startedAt);
    this.#startedAt = startedAt;
    const counts = new Uint16Array(size);
    counts.set(this.#counts);
    this.#counts = counts;
  }
}
