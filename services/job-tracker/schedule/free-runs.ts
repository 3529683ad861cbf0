import { toLtsError } from '../../../shared/errors/lts-error.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { OwnedGroups, OwnedPartition } from '../queue/owned-groups.js';
import type { QueueStore } from '../queue/queue-store.js';
import type { GuardedRuns } from './guarded-runs.js';

/** Runs of one task that are kept; when they have ended, the next ones are looked for. */
const mostKept = 1_000;
const retryMs = 500;

/** Whose runs they are. */
interface Task {
  nodeGroup: string;
  taskId: string;
}

/**
 * Runs that a schedule made while it had no limit. They have other keys, and nobody counts them, until a replace gives the
 * schedule a limit: then they are looked for in the store before it fires, runs by hand, or lets a held run go, so that they
 * count as all others do. A schedule that was never changed has none.
 */
export class FreeRuns {
  readonly #groups: OwnedGroups;
  readonly #guarded: GuardedRuns;
  readonly #store: Pick<QueueStore, 'readFreeRuns'>;
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(parts: { groups: OwnedGroups; guarded: GuardedRuns; store: Pick<QueueStore, 'readFreeRuns'>; clock: Clock; log: Logger }) {
    this.#groups = parts.groups;
    this.#guarded = parts.guarded;
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /** Whether a schedule with a limit may have some that are not counted. */
  mayBe({ nodeGroup, taskId, version }: Task & { version: number }): boolean {
    return version > 1 && this.#guarded.find(nodeGroup, taskId)?.counted !== true;
  }

  /** Counts them. `counted` is called once they are, or with false when the partition is not owned as it was any more. */
  count(owned: OwnedPartition, task: Task, counted: (owned: boolean) => void): void {
    const { nodeGroup, taskId } = task;
    const isOwned = (): boolean => this.#groups.partitions.get(owned.partition) === owned;
    this.#store.readFreeRuns(nodeGroup, taskId, mostKept).then(
      (rows) => {
        if (isOwned()) this.#guarded.count(owned.partition, nodeGroup, taskId, rows, rows.length === mostKept);
        counted(isOwned());
      },
      (error: unknown) => {
        const { reason, message } = toLtsError(error);
        this.#log.warn('store.failed', { operation: 'read the runs of a schedule', reason, ...(reason === 'INTERNAL' ? { error } : { why: message }) });
        this.#clock.after(retryMs, () => (isOwned() ? this.count(owned, task, counted) : counted(false)), { unref: true });
      },
    );
  }
}
