/** Names that repeat, each with its place from 1. */
export class Places {
  readonly #places = new Map<string, number>();

  get size(): number {
    return this.#places.size;
  }

  of(name: string): number {
    let place = this.#places.get(name);
    if (place === undefined) this.#places.set(name, (place = this.#places.size + 1));
    return place;
  }

  names(): Iterable<string> {
    return this.#places.keys();
  }
}
