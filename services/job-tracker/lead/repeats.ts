import type { Clock } from '../../../shared/time/clock.js';

const againAfterMs = 30_000;
const mostKept = 10_000;

/** Messages of something that is tried again and again: each is news once, and again after 30 s. */
export class Repeats {
  readonly #clock: Clock;
  /** When each was last news, monotonic milliseconds. */
  readonly #toldAt = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isNews(message: string): boolean {
    const now = this.#clock.monotonic();
    if (now - (this.#toldAt.get(message) ?? -Infinity) < againAfterMs) return false;
    if (this.#toldAt.size >= mostKept) this.#toldAt.clear();
    this.#toldAt.set(message, now);
    return true;
  }

  /** It works again: the next failure is news. */
  clear(): void {
    this.#toldAt.clear();
  }
}
