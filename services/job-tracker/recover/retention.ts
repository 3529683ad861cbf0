import type { Logger } from '../../../shared/log/logger.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { QueueStore } from '../queue/queue-store.js';

const purgeAtOnce = 200;
const mostPerRound = 20_000;

/** Forgets ended instances that are older than the retention, in small steps that let commits pass between them. */
export class Retention {
  readonly #store: Pick<QueueStore, 'purge'>;
  readonly #retentionMs: number;
  readonly #clock: Clock;
  readonly #log: Logger;
  #running = false;

  constructor(store: Pick<QueueStore, 'purge'>, retentionMs: number, clock: Clock, log: Logger) {
    this.#store = store;
    this.#retentionMs = retentionMs;
    this.#clock = clock;
    this.#log = log;
  }

  /** One round. To be called about every minute by the owner. */
  async round(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      for (let purged = 0; purged < mostPerRound; purged += purgeAtOnce) {
        const gone = await this.#store.purge(this.#clock.now() - this.#retentionMs, purgeAtOnce);
        if (gone < purgeAtOnce) break;
      }
    } catch (error) {
      this.#log.warn('store.failed', { operation: 'purge', error });
    } finally {
      this.#running = false;
    }
  }
}
