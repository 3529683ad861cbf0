/** The most recently used values by a text, at most so many. */
export class LruCache<T> {
  /** In the order of use, the oldest first. */
  readonly #values = new Map<string, T>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): T | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  set(key: string, value: T): T {
    this.#values.set(key, value);
    if (this.#values.size > this.#most) {
      const [oldest] = this.#values.keys();
      if (oldest !== undefined) this.#values.delete(oldest);
    }
    return value;
  }
}
