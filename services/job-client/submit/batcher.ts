import type { Clock, Timer } from '../../../shared/time/clock.js';
import type { PendingJob } from './pending-job.js';

/** How single submits are gathered into calls. */
export interface BatcherOptions {
  /** Sends one batch; never rejects. */
  send(jobs: PendingJob[]): Promise<void>;
  clock: Clock;
  /** Calls out at once. */
  maxInFlight: number;
  /** Limits of one call. */
  maxJobs: number;
  maxBytes: number;
  /** Longest wait for company while a call is out. */
  windowMs: number;
}

/**
 * The queue to one owner. An idle one sends at once; while a call is out, jobs gather until it returns, until a batch is
 * full or until the window ends. No more calls than allowed are out: what comes then waits, and callers watch `jobs`.
 */
export class Batcher {
  readonly #options: BatcherOptions;
  #queue: PendingJob[] = [];
  #bytes = 0;
  #inFlight = 0;
  #scheduled = false;
  #window: Timer | undefined;
  #idle: (() => void)[] = [];

  constructor(options: BatcherOptions) {
    this.#options = options;
  }

  /** Nothing waits and nothing is out. */
  get isIdle(): boolean {
    return this.#queue.length === 0 && this.#inFlight === 0;
  }

  add(job: PendingJob): void {
    this.#queue.push(job);
    this.#bytes += job.bytes.length;
    if (this.#scheduled) return;
    const { maxJobs, maxBytes, windowMs, clock } = this.#options;
    if (this.#inFlight === 0) {
      // After the running piece of code, so that what it submits in one go travels together.
      this.#scheduled = true;
      queueMicrotask(() => {
        this.#scheduled = false;
        this.#send();
      });
    } else if (this.#queue.length >= maxJobs || this.#bytes >= maxBytes) this.#send();
    else this.#window ??= clock.after(windowMs, () => this.#send());
  }

  /** Resolves when nothing waits and nothing is out. */
  whenIdle(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #send(): void {
    this.#window?.cancel();
    this.#window = undefined;
    while (this.#queue.length > 0 && this.#inFlight < this.#options.maxInFlight) {
      this.#inFlight++;
      void this.#options.send(this.#take()).finally(() => {
        this.#inFlight--;
        this.#send();
        if (this.isIdle) for (const resolve of this.#idle.splice(0)) resolve();
      });
    }
  }

  #take(): PendingJob[] {
    const { maxJobs, maxBytes } = this.#options;
    if (this.#queue.length <= maxJobs && this.#bytes <= maxBytes) {
      const all = this.#queue;
      this.#queue = [];
      this.#bytes = 0;
      return all;
    }
    let count = 0;
    let bytes = 0;
    for (const job of this.#queue) {
      if (count === maxJobs || (count > 0 && bytes + job.bytes.length > maxBytes)) break;
      count++;
      bytes += job.bytes.length;
    }
    this.#bytes -= bytes;
    return this.#queue.splice(0, count);
  }
}
