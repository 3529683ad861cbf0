/**
 * The callbacks that wait for a change, by kind and path, on one connection. The library gets one function per kind and
 * path, however often it is asked: its emitters warn above ten, and a change must be told once.
 */
export class PathWatchers {
  readonly #entries = new Map<string, { callbacks: Set<() => void>; fire: () => void }>();

  /** The function to give to the library. It calls back everyone who was added until then, once. */
  add(key: string, callback: () => void): () => void {
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      const callbacks = new Set<() => void>();
      const fire = (): void => {
        if (this.#entries.get(key)?.callbacks === callbacks) this.#entries.delete(key);
        for (const call of callbacks) call();
        callbacks.clear();
      };
      entry = { callbacks, fire };
      this.#entries.set(key, entry);
    }
    entry.callbacks.add(callback);
    return entry.fire;
  }

  forget(callback: () => void): void {
    for (const { callbacks } of this.#entries.values()) callbacks.delete(callback);
  }

  clear(): void {
    for (const { callbacks } of this.#entries.values()) callbacks.clear();
    this.#entries.clear();
  }
}
