import type { Logger } from '../../../shared/log/logger.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { QueueStore } from '../queue/queue-store.js';
import type { FeedbackDelivery } from './feedback-delivery.js';

/** A group of which nobody is connected for so long is told, in milliseconds. */
const toleratedMs = 300_000;

/** Results that nobody picks up. */
export interface Unclaimed {
  submitNodeGroup: string;
  /** Without the dead ones. */
  owed: number;
  /** Wall time in milliseconds since 1970 UTC. */
  since: number;
}

/**
 * Which groups are owed results and have no receiver. Each is told once, when five minutes have passed, and again only
 * after a receiver was there.
 */
export class UnclaimedFeedback {
  readonly #store: Pick<QueueStore, 'countFeedback'>;
  readonly #delivery: Pick<FeedbackDelivery, 'hasReceiver'>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #groups = new Map<string, Unclaimed & { begunAt: number; told: boolean }>();
  #looking = false;

  constructor(store: Pick<QueueStore, 'countFeedback'>, delivery: Pick<FeedbackDelivery, 'hasReceiver'>, clock: Clock, log: Logger) {
    this.#store = store;
    this.#delivery = delivery;
    this.#clock = clock;
    this.#log = log;
  }

  /** Those that were told. */
  all(): Unclaimed[] {
    return [...this.#groups.values()].filter(({ told }) => told).map(({ submitNodeGroup, owed, since }) => ({ submitNodeGroup, owed, since }));
  }

  /** To be called every few seconds. Never rejects. */
  async look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      this.#note(await this.#store.countFeedback());
    } catch (error) {
      this.#log.warn('store.failed', { operation: 'countFeedback', error });
    } finally {
      this.#looking = false;
    }
  }

  /** Another tracker looks now. */
  forget(): void {
    this.#groups.clear();
  }

  #note(counts: readonly { submitNodeGroup: string; owed: number; dead: number }[]): void {
    const now = this.#clock.monotonic();
    const owed = new Map(counts.filter((each) => each.owed > each.dead && !this.#delivery.hasReceiver(each.submitNodeGroup)).map((each) => [each.submitNodeGroup, each.owed - each.dead]));
    for (const group of this.#groups.keys()) if (!owed.has(group)) this.#groups.delete(group);
    for (const [submitNodeGroup, count] of owed) {
      const known = this.#groups.get(submitNodeGroup) ?? { submitNodeGroup, owed: count, since: this.#clock.now(), begunAt: now, told: false };
      this.#groups.set(submitNodeGroup, known);
      known.owed = count;
      if (known.told || now - known.begunAt < toleratedMs) continue;
      known.told = true;
      this.#log.warn('feedback.unclaimed', { group: submitNodeGroup, owed: count, since: known.since });
    }
  }
}
