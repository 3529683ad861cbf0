import type { Random } from '../random.js';

/** Which host reaches which, by direction. */
export class Links {
  readonly #random: Random;
  /** By `from>to`: how many faults block it. */
  readonly #blocks = new Map<string, number>();
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #listeners = new Set<(from: string, to: string) => void>();
  /** Longest usual time on the way, in milliseconds. */
  usualMs = 2;

  constructor(random: Random) {
    this.#random = random;
  }

  latencyMs(): number {
    return 0.1 + this.#random.tail(this.usualMs, this.usualMs * 100);
  }

  blocked(from: string, to: string): boolean {
    return (this.#blocks.get(`${from}>${to}`) ?? 0) > 0;
  }

  /** Blocks one direction until the returned function is called. */
  block(from: string, to: string): () => void {
    const key = `${from}>${to}`;
    this.#blocks.set(key, (this.#blocks.get(key) ?? 0) + 1);
    for (const listener of this.#listeners) listener(from, to);
    return () => {
      this.#blocks.set(key, (this.#blocks.get(key) ?? 1) - 1);
      if (!this.blocked(from, to)) for (const wake of this.#waiting.get(key) ?? []) wake();
    };
  }

  /** Calls once the direction is free; gives the function that stops waiting. */
  onFree(from: string, to: string, wake: () => void): () => void {
    const key = `${from}>${to}`;
    let waiting = this.#waiting.get(key);
    if (waiting === undefined) this.#waiting.set(key, (waiting = new Set()));
    const own = (): void => wake();
    waiting.add(own);
    return () => void waiting.delete(own);
  }

  onBlock(listener: (from: string, to: string) => void): void {
    this.#listeners.add(listener);
  }
}
