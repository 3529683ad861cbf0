import type { Logger } from '../../../shared/log/logger.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { AttemptSettlement } from '../complete/settle-attempt.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { Backlog } from '../queue/backlog.js';
import type { CommitPipeline } from '../queue/commit-pipeline.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { FireOutcome, FireRun, LoadedSchedules, QueueStore, ScheduleRow } from '../queue/queue-store.js';
import { isByHand, runKey, timeOf } from '../queue/task-key.js';
import { told } from './blocking.js';
import { isGuardedPlan } from './decide-fire.js';
import { EndingRuns } from './ending-runs.js';
import { FireTimer } from './fire-timer.js';
import { Firing } from './firing.js';
import { FreeRuns } from './free-runs.js';
import type { GuardedRuns, GuardedTask } from './guarded-runs.js';
import { HeldRuns } from './held-runs.js';
import { PlanCache } from './plan-cache.js';
import { RestingSchedules } from './resting-schedules.js';

/** What schedules stand on. */
export interface SchedulesParts {
  groups: OwnedGroups;
  pipeline: CommitPipeline;
  dispatcher: Dispatcher;
  settlement: AttemptSettlement;
  guarded: GuardedRuns;
  backlog: Backlog;
  store: Pick<QueueStore, 'readSchedules' | 'readSchedule' | 'readFreeRuns'>;
  newId: (now: number) => string;
  clock: Clock;
  log: Logger;
}

/** One run by hand. */
export interface RunByHand {
  id: string;
  scheduledAt: number;
  /** In place of the job of the schedule. */
  job: Buffer | undefined;
}

/**
 * All that the owner does for schedules by itself: it fires them (fire-timer.ts, firing.ts), lets held runs go
 * (held-runs.ts), sets the next time of a fixed delay (resting-schedules.ts) and ends what is to end of very many runs
 * (ending-runs.ts). Memory follows the commits: whoever
 * changes a schedule tells `stands` or `gone`, in their order.
 */
export class Schedules {
  readonly plans = new PlanCache();
  readonly timer: FireTimer;
  readonly ending: EndingRuns;
  readonly #groups: OwnedGroups;
  readonly #guarded: GuardedRuns;
  readonly #free: FreeRuns;
  readonly #firing: Firing;
  readonly #held: HeldRuns;
  readonly #resting: RestingSchedules;
  readonly #clock: Clock;

  constructor(parts: SchedulesParts) {
    const { groups, pipeline, dispatcher, guarded, store, clock, log } = parts;
    this.#groups = groups;
    this.#guarded = guarded;
    this.#clock = clock;
    this.#free = new FreeRuns(parts);
    this.#firing = new Firing({ ...parts, free: this.#free, plans: this.plans });
    this.ending = new EndingRuns(parts);
    this.#held = new HeldRuns(groups, pipeline, dispatcher, this.#free, clock);
    const ends = {
      fires: (partition: number, row: ScheduleRow) => this.timer.put(partition, row),
      unclear: (partition: number, nodeGroup: string, taskId: string) => this.timer.readAgain(partition, nodeGroup, taskId),
    };
    this.#resting = new RestingSchedules(groups, pipeline, guarded, this.plans, ends, clock);
    this.timer = new FireTimer({ groups, store, firing: this.#firing, rests: (partition, row) => this.#resting.put(partition, row), clock, log });
  }

  /** The partition is loaded, and nothing of it handed out: its held runs go when they may, its fires are read. */
  adopted(partition: number, { guarded, resting, left }: LoadedSchedules): void {
    this.ending.adopted(partition, left);
    this.#guarded.load(partition, guarded);
    this.#resting.drop(partition);
    for (const row of resting) this.#resting.put(partition, row);
    for (const task of [...this.#guarded.all()]) {
      if (task.partition !== partition) continue;
      this.#tellWhyCancelled(task);
      this.#held.free(task);
    }
    this.timer.adopted(partition);
  }

  /** For whose sake a run was cancelled is not stored: the one that waits for it tells. */
  #tellWhyCancelled({ runs }: GuardedTask): void {
    const next = runs.find(({ stands, taskKey }) => stands === 'held' && !isByHand(taskKey));
    if (next === undefined) return;
    for (const { id } of runs) {
      const execution = this.#groups.executions.get(id);
      if (execution?.cancelling) execution.cancelReason = `cancelled while run ${told({ id: next.id, scheduledAt: timeOf(next.taskKey) })} waited for its end`;
    }
  }

  /** Forgets what is not owned any more. */
  dropped(partitions: readonly number[]): void {
    for (const partition of partitions) {
      if (this.#groups.partitions.has(partition)) continue;
      this.#guarded.drop(partition);
      this.#resting.drop(partition);
    }
    this.timer.dropped();
  }

  /** A run has ended: another one may go, and a delay begins. */
  freed(task: GuardedTask): void {
    this.#held.free(task);
    this.#resting.look(task.nodeGroup, task.taskId);
  }

  /** The schedule stands so from now on. */
  stands(partition: number, row: ScheduleRow): void {
    this.#resting.remove(row.nodeGroup, row.taskId);
    this.timer.put(partition, row);
    if (row.state === 'ACTIVE' && row.nextAt === undefined) this.#resting.put(partition, row);
  }

  /** It was replaced: what it owes, only the store knows. */
  replaced(partition: number, nodeGroup: string, taskId: string): void {
    this.gone(partition, nodeGroup, taskId);
    this.#guarded.replaced(nodeGroup, taskId);
    this.timer.readAgain(partition, nodeGroup, taskId);
  }

  /** The schedule does not fire any more: it is suspended, or over. */
  gone(partition: number, nodeGroup: string, taskId: string): void {
    this.#resting.remove(nodeGroup, taskId);
    this.timer.remove(partition, nodeGroup, taskId);
  }

  /** Releases held runs of the task that may go. */
  free(task: GuardedTask): void {
    this.#held.free(task);
  }

  /** Ids of the live runs that are not held, where the schedule limits how many there are. */
  going(nodeGroup: string, taskId: string): string[] {
    return this.#guarded.find(nodeGroup, taskId)?.runs.flatMap(({ id, stands }) => (stands === 'held' ? [] : [id])) ?? [];
  }

  /** One run beside the scheduled ones. Rejects with what kept it from the store. */
  async runByHand(partition: number, row: ScheduleRow, { id, scheduledAt, job }: RunByHand): Promise<FireOutcome & { held: boolean }> {
    const owned = this.#groups.partitions.get(partition);
    const { plan } = this.plans.of(row);
    if (owned !== undefined && isGuardedPlan(plan) && this.#free.mayBe(row)) await new Promise<boolean>((resolve) => this.#free.count(owned, row, resolve));
    const { nodeGroup, taskId, sched, version } = row;
    const task = this.#guarded.find(nodeGroup, taskId);
    const held = isGuardedPlan(plan) && task !== undefined && task.runs.length >= plan.blocking.limit;
    const run: FireRun = { id, taskKey: runKey(taskId, isGuardedPlan(plan), id), scheduledAt, held, counts: false, ...(job === undefined ? {} : { job }) };
    return new Promise((resolve, reject) => {
      if (owned === undefined) return reject(new Error('the partition is not owned'));
      this.#firing.store(owned, row, plan.blocking.limit, { kind: 'fire', partition, nodeGroup, sched, version, from: undefined, nextAt: undefined, over: false, at: this.#clock.now(), runs: [run], passed: [] }, (outcome, error) => {
        if (outcome === undefined) reject(error);
        else resolve({ ...outcome, held });
      });
    });
  }
}
