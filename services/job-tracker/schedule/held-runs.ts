import type { Clock } from '../../../shared/time/clock.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { CommitPipeline } from '../queue/commit-pipeline.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { ReleaseOutcome } from '../queue/queue-store.js';
import { going, type GuardedTask, type OwnedRun } from './guarded-runs.js';

const retryMs = 500;

/** Lets held runs go when the limit of their schedule allows: the oldest first. */
export class HeldRuns {
  readonly #groups: OwnedGroups;
  readonly #pipeline: CommitPipeline;
  readonly #dispatcher: Dispatcher;
  readonly #clock: Clock;

  constructor(groups: OwnedGroups, pipeline: CommitPipeline, dispatcher: Dispatcher, clock: Clock) {
    this.#groups = groups;
    this.#pipeline = pipeline;
    this.#dispatcher = dispatcher;
    this.#clock = clock;
  }

  /** Releases as many of them as may go now. Of those on their way into the store it is called again. */
  free(task: GuardedTask): void {
    if (!this.#groups.isOpen(task.partition)) return;
    for (let places = task.limit - going(task); places > 0; places--) {
      const next = task.runs.find(({ stands, seq }) => stands === 'held' && seq !== undefined);
      if (next?.seq === undefined) return;
      this.#release(task, next, next.seq);
    }
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
