import { LtsError } from '../../../shared/errors/lts-error.js';
import type { Clock } from '../../../shared/time/clock.js';

/** Later than this its caller may have given up before it has found anything. */
const longestWaitMs = 5_000;

/**
 * Searches through what has ended, which no index leads to: one after the other. Each reads much in steps, and between two
 * steps all other reads of the store have their turn, those of a take-over among them.
 */
export class Searches {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Rejects with TOO_MANY_CALLS when it has no turn within 5 s, and with what `search` rejects with. */
  run<T>(search: () => Promise<T>): Promise<T> {
    const since = this.#clock.monotonic();
    const found = this.#last.then(() => {
      if (this.#clock.monotonic() - since <= longestWaitMs) return search();
      throw new LtsError('TOO_MANY_CALLS', `so much is searched for among what has ended that this had no turn within ${longestWaitMs} ms; back off and call again, or give the id of an instance, or live_only for a schedule`);
    });
    this.#last = found.catch(() => undefined);
    return found;
  }
}
