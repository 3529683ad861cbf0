import type { Logger } from '../../../shared/log/logger.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { ExecutingCheck } from './check-executing.js';
import type { GroupCheck } from './check-groups.js';
import type { ScheduleCheck } from './check-schedules.js';
import type { TimerCheck } from './check-timer.js';

/** A round over all that is owned begins at most so often, in milliseconds. */
const roundMs = 10_000;

/**
 * Holds the owner's memory against the store while it works: one small read for each kind of check per step, going
 * round over what is owned.
 *
 * Who is right: the store, always; the reads take effect in the order of commits, so that both show the same moment. A
 * cursor says where each check goes on; when what it points at is not owned any more it goes on behind it, and a
 * restart begins at the start. On failure of a read the step is over, and the next one tries again.
 */
export class Reconciliation {
  readonly #groups: OwnedGroups;
  readonly #checks: { look(): Promise<void> }[];
  readonly #clock: Clock;
  readonly #log: Logger;
  #running = false;

  constructor(groups: OwnedGroups, checks: { executing: ExecutingCheck; timer: TimerCheck; schedules: ScheduleCheck; groups: GroupCheck }, clock: Clock, log: Logger) {
    this.#groups = groups;
    this.#clock = clock;
    this.#log = log;
    const partitions = (): number[] => [...groups.partitions.keys()].toSorted((a, b) => a - b);
    const names = (): string[] => [...groups.groups.keys()].toSorted();
    this.#checks = [
      this.#goRound(partitions, (partition) => checks.executing.look(partition)),
      this.#goRound(partitions, (partition) => checks.timer.look(partition)),
      this.#goRound(partitions, (partition) => checks.schedules.look(partition)),
      this.#goRound(names, async (name) => {
        const group = this.#groups.groups.get(name);
        return group === undefined || (await checks.groups.look(group));
      }),
    ];
  }

  /** One step of each check. To be called about every second. */
  async step(): Promise<void> {
    if (this.#running || this.#groups.partitions.size === 0) return;
    this.#running = true;
    try {
      for (const check of this.#checks) await check.look();
    } catch (error) {
      this.#log.warn('store.failed', { operation: 'reconcile', error });
    } finally {
      this.#running = false;
    }
  }

  /** Goes over all keys in their order, and rests when it is round. `look` says whether its key is through. */
  #goRound<K extends string | number>(keys: () => K[], look: (key: K) => Promise<boolean>): { look(): Promise<void> } {
    let last: K | undefined;
    let open: K | undefined;
    let begunAt = Number.NEGATIVE_INFINITY;
    return {
      look: async () => {
        const all = keys();
        let key = open !== undefined && all.includes(open) ? open : all.find((each) => last === undefined || each > last);
        if (key === undefined) {
          last = undefined;
          [key] = all;
        }
        if (key === undefined) return;
        const now = this.#clock.monotonic();
        const begins = last === undefined && open === undefined;
        if (begins && now - begunAt < roundMs) return;
        if (begins) begunAt = now;
        open = key;
        if (!(await look(key))) return;
        open = undefined;
        last = key;
      },
    };
  }
}
