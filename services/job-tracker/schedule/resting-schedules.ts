import type { Clock } from '../../../shared/time/clock.js';
import type { CommitPipeline } from '../queue/commit-pipeline.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { AlterOutcome, ScheduleRow } from '../queue/queue-store.js';
import { type GuardedRuns, hasScheduledRun, taskName } from './guarded-runs.js';
import type { PlanCache } from './plan-cache.js';

const retryMs = 500;

interface Resting {
  partition: number;
  row: ScheduleRow;
  /** Its next time is on its way into the store. */
  setting: boolean;
}

/** What becomes of a schedule that rested. */
export interface RestingEnds {
  /** It fires again. */
  fires(partition: number, row: ScheduleRow): void;
  /** It is not what was thought: to be read again. */
  unclear(partition: number, nodeGroup: string, taskId: string): void;
}

/**
 * ACTIVE schedules without a next time: their delay counts from the end of a run. It is set once no run for a scheduled
 * time lives: by the end of the run, or by whoever takes the partition over and finds none.
 */
export class RestingSchedules {
  readonly #resting = new Map<string, Resting>();
  readonly #groups: OwnedGroups;
  readonly #pipeline: CommitPipeline;
  readonly #guarded: GuardedRuns;
  readonly #plans: PlanCache;
  readonly #ends: RestingEnds;
  readonly #clock: Clock;

  constructor(groups: OwnedGroups, pipeline: CommitPipeline, guarded: GuardedRuns, plans: PlanCache, ends: RestingEnds, clock: Clock) {
    this.#groups = groups;
    this.#pipeline = pipeline;
    this.#guarded = guarded;
    this.#plans = plans;
    this.#ends = ends;
    this.#clock = clock;
  }

  drop(partition: number): void {
    for (const [name, resting] of this.#resting) if (resting.partition === partition) this.#resting.delete(name);
  }

  /** The schedule rests from now on. */
  put(partition: number, row: ScheduleRow): void {
    this.#resting.set(taskName(row.nodeGroup, row.taskId), { partition, row, setting: false });
    this.look(row.nodeGroup, row.taskId);
  }

  /** It does not rest any more, or is another one. */
  remove(nodeGroup: string, taskId: string): void {
    this.#resting.delete(taskName(nodeGroup, taskId));
  }

  /** Sets its next time unless a run still goes. */
  look(nodeGroup: string, taskId: string): void {
    const resting = this.#resting.get(taskName(nodeGroup, taskId));
    if (resting === undefined || resting.setting || !this.#groups.isOpen(resting.partition)) return;
    if (hasScheduledRun(this.#guarded.find(nodeGroup, taskId))) return;
    this.#setNext(resting);
  }

  #setNext(resting: Resting): void {
    const { partition, row } = resting;
    const { nodeGroup, taskId, version } = row;
    const at = this.#clock.now();
    const { times } = this.#plans.of(row).plan;
    // The clock may have been set back: no time fires twice.
    const nextAt = Math.max(at + (times.kind === 'repeat' ? times.interval : 0), (row.lastAt ?? 0) + 1);
    resting.setting = true;
    this.#pipeline.add({ kind: 'alter', change: 'next', partition, nodeGroup, taskId, nextAt, version, at }, (outcome, error) => {
      if (this.#resting.get(taskName(nodeGroup, taskId)) !== resting) return;
      if (error !== undefined) {
        resting.setting = false;
        this.#clock.after(retryMs, () => this.look(nodeGroup, taskId), { unref: true });
        return;
      }
      this.remove(nodeGroup, taskId);
      const altered = outcome as AlterOutcome;
      if (altered.result === 'done') this.#ends.fires(partition, { ...row, nextAt, version: altered.version, updatedAt: at });
      else this.#ends.unclear(partition, nodeGroup, taskId);
    });
  }
}
