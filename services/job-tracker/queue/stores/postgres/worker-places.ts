import type { WorkerIdentity } from '../../queue-store.js';
import { ArrayText } from './array-text.js';
import { Places } from './places.js';

/** Workers that a batch names, each once, as node and incarnation in turn. */
export class WorkerPlaces {
  readonly #places = new Places();
  readonly #names = new ArrayText();

  /** From 1. */
  of({ nodeId, incarnation }: WorkerIdentity): number {
    const known = this.#places.size;
    const place = this.#places.of(`${nodeId}\0${incarnation}`);
    if (place > known) {
      this.#names.add(nodeId);
      this.#names.add(incarnation);
    }
    return place;
  }

  text(): string {
    return this.#names.text();
  }
}
