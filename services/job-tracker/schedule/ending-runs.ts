import type { Clock } from '../../../shared/time/clock.js';
import type { AttemptSettlement } from '../complete/settle-attempt.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { CommitPipeline, Settle } from '../queue/commit-pipeline.js';
import type { OwnedGroups, OwnedPartition } from '../queue/owned-groups.js';
import type { Alter, AlterOutcome, Cancel, CancelOutcome, EndRunsOutcome, LeftRuns } from '../queue/queue-store.js';

/** Runs that one transition takes on: more of them would hold up the commits of all. */
const mostAtOnce = 1_000;
const retryMs = 500;

/**
 * The end of what waits of a task, of which there may be hundreds of thousands: when its schedule is suspended or deleted,
 * or it is cancelled by task.
 *
 * Few runs end in the transition that asks for it. When the store says that there are many, the task is halted: none of
 * its runs is handed out until all are ended, while the others of the group go on. What was handed out before has its place before in the pipeline, so that the
 * transition, which now goes through, finds it with its worker. It ends a part; the answer goes out, and the others end
 * in transitions of their own, between those of everybody else.
 *
 * What is left is noted in the store. After a crash or a take-over the new owner is told by its load, before it hands
 * anything out; on failure it is tried again after 500 ms.
 */
export class EndingRuns {
  readonly #groups: OwnedGroups;
  readonly #pipeline: CommitPipeline;
  readonly #dispatcher: Dispatcher;
  readonly #settlement: AttemptSettlement;
  readonly #clock: Clock;

  constructor(parts: { groups: OwnedGroups; pipeline: CommitPipeline; dispatcher: Dispatcher; settlement: AttemptSettlement; clock: Clock }) {
    this.#groups = parts.groups;
    this.#pipeline = parts.pipeline;
    this.#dispatcher = parts.dispatcher;
    this.#settlement = parts.settlement;
    this.#clock = parts.clock;
  }

  /** Stores it; `settle` has the outcome, of which memory has to follow, as of any other transition. */
  end(t: Alter | Cancel, by: LeftRuns['by'], settle: Settle): void {
    const { partition, nodeGroup } = t;
    this.#pipeline.add({ ...t, bound: { most: mostAtOnce, halted: false } }, (tried, error) => {
      if (error !== undefined || !isTooMuch(tried as AlterOutcome | CancelOutcome)) return settle(tried, error);
      const { taskId = '' } = t;
      this.#halt(partition, nodeGroup, taskId);
      this.#pipeline.add({ ...t, bound: { most: mostAtOnce, halted: true } }, (outcome, failure) => {
        settle(outcome, failure);
        const owned = this.#groups.partitions.get(partition);
        if ((outcome as AlterOutcome | CancelOutcome | undefined)?.left === true && owned !== undefined) this.#goOn(owned, { nodeGroup, taskId, by });
        else this.#letGo(partition, nodeGroup, taskId);
      });
    });
  }

  /** The partition is loaded, and nothing of it was handed out since. */
  adopted(partition: number, left: readonly LeftRuns[]): void {
    const owned = this.#groups.partitions.get(partition);
    if (owned === undefined) return;
    for (const each of left) {
      this.#halt(partition, each.nodeGroup, each.taskId);
      this.#goOn(owned, each);
    }
  }

  #goOn(owned: OwnedPartition, left: LeftRuns): void {
    const { partition } = owned;
    if (!this.#isOpen(owned)) return this.#letGo(partition, left.nodeGroup, left.taskId);
    this.#pipeline.add({ kind: 'endRuns', partition, ...left, most: mostAtOnce, at: this.#clock.now() }, (outcome, error) => {
      // Loaded anew meanwhile: the load has told what is left.
      if (!this.#isOwned(owned)) return this.#letGo(partition, left.nodeGroup, left.taskId);
      if (error !== undefined) return void this.#clock.after(retryMs, () => this.#goOn(owned, left), { unref: true });
      const ended = outcome as EndRunsOutcome;
      // Also when it is about to be released: what is on its way then is still stored, and memory follows.
      this.#settlement.cancelled(left.nodeGroup, { cancelled: ended.cancelled, cancelling: [] });
      if (ended.left) this.#goOn(owned, left);
      else this.#letGo(partition, left.nodeGroup, left.taskId);
    });
  }

  #isOpen(owned: OwnedPartition): boolean {
    return this.#isOwned(owned) && !owned.leaving;
  }

  #isOwned(owned: OwnedPartition): boolean {
    return this.#groups.partitions.get(owned.partition) === owned;
  }

  #halt(partition: number, nodeGroup: string, taskId: string): void {
    this.#groups.halt(nodeGroup, taskId);
    this.#dispatch(partition, nodeGroup);
  }

  #letGo(partition: number, nodeGroup: string, taskId: string): void {
    this.#groups.goOn(nodeGroup, taskId);
    this.#dispatch(partition, nodeGroup);
  }

  #dispatch(partition: number, nodeGroup: string): void {
    if (this.#groups.isOpen(partition)) this.#dispatcher.dispatch(this.#groups.group(nodeGroup, partition));
  }
}

function isTooMuch(outcome: AlterOutcome | CancelOutcome): boolean {
  return outcome.kind === 'alter' ? outcome.result === 'many' : outcome.many === true;
}
