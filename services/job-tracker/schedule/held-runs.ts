import type { Clock } from '../../../shared/time/clock.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { CommitPipeline } from '../queue/commit-pipeline.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { ReleaseOutcome } from '../queue/queue-store.js';
import type { FreeRuns } from './free-runs.js';
import { going, type GuardedTask, type OwnedRun } from './guarded-runs.js';

const retryMs = 500;

/** Lets held runs go when the limit of their schedule allows: the oldest first. */
export class HeldRuns {
  readonly #groups: OwnedGroups;
  readonly #pipeline: CommitPipeline;
  readonly #dispatcher: Dispatcher;
  readonly #free: FreeRuns;
  readonly #clock: Clock;
  /** Tasks whose runs are being counted. */
  readonly #counting = new Set<GuardedTask>();

  constructor(groups: OwnedGroups, pipeline: CommitPipeline, dispatcher: Dispatcher, free: FreeRuns, clock: Clock) {
    this.#groups = groups;
    this.#pipeline = pipeline;
    this.#dispatcher = dispatcher;
    this.#free = free;
    this.#clock = clock;
  }

  /** Releases as many of them as may go now. Of those on their way into the store it is called again. */
  free(task: GuardedTask): void {
    if (!this.#groups.isOpen(task.partition)) return;
    if (!task.counted && task.runs.some(({ stands }) => stands === 'held')) return this.#count(task);
    for (let places = task.limit - going(task); places > 0; places--) {
      const next = task.runs.find(({ stands, seq }) => stands === 'held' && seq !== undefined);
      if (next?.seq === undefined) return;
      this.#release(task, next, next.seq);
    }
  }

  #count(task: GuardedTask): void {
    const owned = this.#groups.partitions.get(task.partition);
    if (owned === undefined || this.#counting.has(task)) return;
    this.#counting.add(task);
    this.#free.count(owned, task, (isOwned) => {
      this.#counting.delete(task);
      if (isOwned) this.free(task);
    });
  }

  #release(task: GuardedTask, run: OwnedRun, seq: number): void {
    const { partition, nodeGroup } = task;
    const owned = this.#groups.partitions.get(partition);
    // Its place is taken from now on.
    run.stands = 'active';
    this.#pipeline.add({ kind: 'release', partition, nodeGroup, seq, at: this.#clock.now() }, (outcome, error) => {
      // Loaded anew meanwhile: the load has told how it stands.
      if (this.#groups.partitions.get(partition) !== owned) return;
      if (error !== undefined) {
        run.stands = 'held';
        this.#clock.after(retryMs, () => this.free(task), { unref: true });
        return;
      }
      const { ready } = outcome as ReleaseOutcome;
      if (ready === undefined) return;
      this.#groups.group(nodeGroup, partition).waiting--;
      this.#dispatcher.enter(ready);
    });
  }
}
