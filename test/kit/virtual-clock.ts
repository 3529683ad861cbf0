import type { Clock, Timer } from '../../shared/time/clock.js';

interface Pending {
  at: number;
  order: number;
  callback: () => void;
}

/** A clock that stands still until it is told to go on. Timers fire in the order of their times, then of their making. */
export class VirtualClock implements Clock {
  #monotonic = 0;
  #wallOffset: number;
  #order = 0;
  readonly #pending = new Set<Pending>();

  /** @param startMs the wall time at the beginning */
  constructor(startMs = 1_800_000_000_000) {
    this.#wallOffset = startMs;
  }

  now(): number {
    return this.#wallOffset + this.#monotonic;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** Steps the wall clock alone. */
  step(byMs: number): void {
    this.#wallOffset += byMs;
  }

  /** Time passes, but no timer fires: as for a process that stood still and goes on. */
  stand(byMs: number): void {
    this.#monotonic += byMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    const pending = { at: this.#monotonic + Math.max(delayMs, 0), order: this.#order++, callback };
    this.#pending.add(pending);
    return { cancel: () => void this.#pending.delete(pending) };
  }

  soon(callback: () => void): void {
    setImmediate(callback);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = this.after(delayMs, resolve);
      signal?.addEventListener('abort', () => {
        timer.cancel();
        reject(signal.reason as Error);
      });
    });
  }

  /** Lets time pass; between two timers everything that is due at once in this process runs. */
  async advance(byMs: number): Promise<void> {
    const until = this.#monotonic + byMs;
    for (;;) {
      await settle();
      const next = [...this.#pending].sort((a, b) => a.at - b.at || a.order - b.order)[0];
      if (next === undefined || next.at > until) break;
      // What was due while it stood fires late.
      this.#monotonic = Math.max(this.#monotonic, next.at);
      this.#pending.delete(next);
      next.callback();
    }
    this.#monotonic = until;
    await settle();
  }
}

/** Lets all promises and immediates of this moment run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}
