import type { Clock, Timer } from '../../../shared/time/clock.js';

/** Time limits of runs: one timer for all, armed for the earliest. */
export class Deadlines<T> {
  readonly #clock: Clock;
  readonly #onPassed: (passed: T[]) => void;
  /** Monotonic milliseconds. */
  readonly #at = new Map<T, number>();
  #timer: Timer | undefined;
  #armedFor = Infinity;

  constructor(clock: Clock, onPassed: (passed: T[]) => void) {
    this.#clock = clock;
    this.#onPassed = onPassed;
  }

  add(what: T, delayMs: number): void {
    const at = this.#clock.monotonic() + delayMs;
    this.#at.set(what, at);
    if (at < this.#armedFor) this.#arm(at);
  }

  /** The timer stays: it will find nothing, and most limits are never reached. */
  remove(what: T): void {
    if (this.#at.size > 0) this.#at.delete(what);
  }

  close(): void {
    this.#timer?.cancel();
    this.#at.clear();
  }

  #arm(at: number): void {
    this.#timer?.cancel();
    this.#armedFor = at;
    this.#timer = this.#clock.after(at - this.#clock.monotonic(), () => this.#sweep(), { unref: true });
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    const passed: T[] = [];
    let next = Infinity;
    for (const [what, at] of this.#at) {
      // A timer may fire a little early: what is due within a millisecond is due.
      if (at <= now + 1) passed.push(what);
      else next = Math.min(next, at);
    }
    for (const what of passed) this.#at.delete(what);
    this.#armedFor = Infinity;
    if (next !== Infinity) this.#arm(next);
    if (passed.length > 0) this.#onPassed(passed);
  }
}
