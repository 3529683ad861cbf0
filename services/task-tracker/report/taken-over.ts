import type { WorkRequest } from '../../../shared/grpc/generated/lts/v1/WorkRequest.js';

/**
 * Incarnations whose FailStore this worker has taken over since it said Hello. They are told once all of their results
 * are settled: what they did not finish is then lost for certain, and need not wait for the grace time.
 */
export class TakenOver {
  readonly #predecessors: () => readonly string[];
  readonly #owes: (incarnation: string) => boolean;
  #named: ReadonlySet<string> = new Set();
  readonly #untold = new Set<string>();

  /** @param owes whether results of the incarnation are not settled yet */
  constructor(predecessors: () => readonly string[], owes: (incarnation: string) => boolean) {
    this.#predecessors = predecessors;
    this.#owes = owes;
  }

  /** Those that the Hello of a new stream names. */
  named(): string[] {
    const all = [...this.#predecessors()];
    this.#named = new Set(all);
    this.#untold.clear();
    return all;
  }

  /** There may be more of them. */
  look(): void {
    for (const each of this.#predecessors()) if (!this.#named.has(each)) this.#untold.add(each);
  }

  nextFrame(): WorkRequest | undefined {
    const ended = [...this.#untold].filter((each) => !this.#owes(each));
    for (const each of ended) this.#untold.delete(each);
    // It brings no results: its ack settles nothing, under whatever number.
    return ended.length === 0 ? undefined : { results: { sequence: 0, results: [], ended } };
  }
}
