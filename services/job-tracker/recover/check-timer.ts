import type { QueueStore } from '../queue/queue-store.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { DueTimer } from '../schedule/due-timer.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { Repairs } from './repairs.js';
import { Suspicions } from './suspicions.js';

/** Memory may be so much late for a while: a promotion that failed is tried again by then. Milliseconds. */
const toleratedMs = 2_000;

/** When the next waiting row of a partition is due, by the store and by memory. Memory may look earlier, never later. */
export class TimerCheck {
  readonly #groups: OwnedGroups;
  readonly #dueTimer: DueTimer;
  readonly #store: Pick<QueueStore, 'nextDue'>;
  readonly #clock: Clock;
  readonly #repairs: Repairs;
  readonly #suspicions = new Suspicions();

  constructor(groups: OwnedGroups, dueTimer: DueTimer, store: Pick<QueueStore, 'nextDue'>, clock: Clock, repairs: Repairs) {
    this.#groups = groups;
    this.#dueTimer = dueTimer;
    this.#store = store;
    this.#clock = clock;
    this.#repairs = repairs;
  }

  /** True when the partition is through. */
  async look(partition: number): Promise<boolean> {
    const stored = await this.#store.nextDue(partition);
    const owned = this.#groups.partitions.get(partition);
    if (owned !== undefined && stored !== undefined && !this.#dueTimer.promoting(partition)) {
      const looksAt = owned.nextDueAt ?? Number.POSITIVE_INFINITY;
      if (looksAt > Math.max(stored, this.#clock.now()) + toleratedMs) {
        this.#suspicions.raise(`late ${owned.epoch}`, () => {
          this.#repairs.note('TIMER', { partition, dueAt: stored });
          this.#dueTimer.dueAt(partition, stored);
        });
      }
    }
    return !this.#suspicions.judge();
  }
}
