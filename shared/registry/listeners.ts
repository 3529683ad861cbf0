import type { Logger } from '../log/logger.js';
import type { Subscription } from './registry.js';

/** A set of callbacks. One that throws is logged and does not disturb the others or the caller. */
export class Listeners<T> {
  readonly #listeners = new Set<(value: T) => void>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  get size(): number {
    return this.#listeners.size;
  }

  add(listener: (value: T) => void): Subscription {
    // A wrapper per call, so that the same function may be added twice.
    const own = (value: T): void => listener(value);
    this.#listeners.add(own);
    return { close: () => void this.#listeners.delete(own) };
  }

  emit(value: T): void {
    for (const listener of this.#listeners) this.call(listener, value);
  }

  call(listener: (value: T) => void, value: T): void {
    try {
      listener(value);
    } catch (error) {
      this.#log.error('registry.failed', { what: 'a listener threw', error });
    }
  }
}
