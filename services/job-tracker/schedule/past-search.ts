import { LtsError } from '../../../shared/errors/lts-error.js';
import type { PastSchedule, QueueStore } from '../queue/queue-store.js';

/** More searches than this would not have their turn within the time that callers give them. */
const mostAtOnce = 10;

/**
 * Looks for schedules that have ended, one search after the other: each reads much of the history in steps, and between two
 * of these all other reads of the store have their turn, those of a take-over among them.
 */
export class PastSearch {
  readonly #store: Pick<QueueStore, 'findPastSchedule'>;
  #last: Promise<unknown> = Promise.resolve();
  /** Searches that wait or run. */
  #open = 0;

  constructor(store: Pick<QueueStore, 'findPastSchedule'>) {
    this.#store = store;
  }

  /** Rejects with TOO_MANY_CALLS when too many others wait, and with what the store says. */
  async find(nodeGroup: string, taskId: string): Promise<PastSchedule | undefined> {
    if (this.#open >= mostAtOnce) throw new LtsError('TOO_MANY_CALLS', `${this.#open} searches for schedules that have ended are under way; back off and call again, or ask for live ones only with live_only`);
    this.#open++;
    const found = this.#last.then(() => this.#store.findPastSchedule(nodeGroup, taskId));
    this.#last = found.catch(() => undefined).then(() => this.#open--);
    return found;
  }
}
