import type { LtsError } from '../../../shared/errors/lts-error.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { AttemptSettlement } from '../complete/settle-attempt.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { Worker } from '../dispatch/worker.js';
import type { WorkerSession } from '../dispatch/worker-session.js';
import type { Backlog } from '../queue/backlog.js';
import type { CommitPipeline } from '../queue/commit-pipeline.js';
import type { GroupQueue, OwnedGroups, OwnedPartition } from '../queue/owned-groups.js';
import type { Cancel, CancelOutcome, Fire, FireOutcome, FireRun, Outcome, ScheduleRow } from '../queue/queue-store.js';
import type { GivesWay } from './blocking.js';
import { decideFire, type DueSchedule, isGuardedPlan } from './decide-fire.js';
import type { FiringRow } from './fire-window.js';
import type { FreeRuns } from './free-runs.js';
import type { GuardedRuns } from './guarded-runs.js';
import type { PlanCache } from './plan-cache.js';

/** Called once: with what the store says, or with what kept the fire from it. */
export type Fired = (outcome: FireOutcome | undefined, error: LtsError | undefined) => void;

/** A slot that is reserved for a run. */
interface Reserved {
  worker: Worker;
  session: WorkerSession | undefined;
}

/** Jobs above this size are not kept with their ready rows. */
const smallJobBytes = 4_096;

/** A fire: decide → one durable write → memory follows. Runs go straight to a free worker in that write. */
export class Firing {
  readonly #groups: OwnedGroups;
  readonly #pipeline: CommitPipeline;
  readonly #dispatcher: Dispatcher;
  readonly #settlement: AttemptSettlement;
  readonly #guarded: GuardedRuns;
  readonly #free: FreeRuns;
  readonly #plans: PlanCache;
  readonly #backlog: Backlog;
  readonly #clock: Clock;
  readonly #newId: (now: number) => string;
  readonly #log: Logger;
  /** Fires that wait until it is known whether a run of their task is made. */
  #waiting: (() => void)[] = [];

  constructor(parts: {
    groups: OwnedGroups;
    pipeline: CommitPipeline;
    dispatcher: Dispatcher;
    settlement: AttemptSettlement;
    guarded: GuardedRuns;
    free: FreeRuns;
    plans: PlanCache;
    backlog: Backlog;
    clock: Clock;
    newId: (now: number) => string;
    log: Logger;
  }) {
    this.#groups = parts.groups;
    this.#pipeline = parts.pipeline;
    this.#dispatcher = parts.dispatcher;
    this.#settlement = parts.settlement;
    this.#guarded = parts.guarded;
    this.#free = parts.free;
    this.#plans = parts.plans;
    this.#backlog = parts.backlog;
    this.#clock = parts.clock;
    this.#newId = parts.newId;
    this.#log = parts.log;
  }

  /**
   * Answers the times that have come. Tells how the schedule stands after it; undefined: it is over. A run of the task that
   * is on its way into the store, by hand or of the schedule that this one replaces, is waited for: no time is given up for
   * a run that may never come. Gives how many runs and passed times are on their way into the store; 0: not known yet.
   */
  fire(owned: OwnedPartition, row: FiringRow, fired: (next: ScheduleRow | undefined, outcome: FireOutcome | undefined, error: LtsError | undefined) => void, counted = false): number {
    const now = this.#clock.now();
    const { plan, timetable } = this.#plans.of(row);
    if (!counted && isGuardedPlan(plan) && this.#free.mayBe(row)) {
      this.#free.count(owned, row, (isOwned) => (isOwned ? this.fire(owned, row, fired, true) : fired(undefined, undefined, undefined)));
      return 0;
    }
    const live = this.#guarded.find(row.nodeGroup, row.taskId)?.runs ?? [];
    if (live.some(({ seq }) => seq === undefined)) {
      this.#waiting.push(() => (this.#groups.partitions.get(owned.partition) === owned ? this.fire(owned, row, fired) : fired(undefined, undefined, undefined)));
      return 0;
    }
    const { runs, passed, nextAt, over, giveWay, missed } = decideFire({ row, plan, timetable, live: live.map(({ id, taskKey, stands }) => ({ id, taskKey, stands, begun: this.#groups.executions.has(id) })), backlog: this.#backlogOf(row, owned) }, now, () => this.#newId(now));
    const { nodeGroup, sched, version } = row;
    this.store(owned, row, plan.blocking.limit, { kind: 'fire', partition: owned.partition, nodeGroup, sched, version, from: row.nextAt, nextAt, over, at: now, runs, passed }, (outcome, error) => {
      if (outcome?.applied !== true) return fired(undefined, outcome, error);
      if (missed !== undefined) this.#log.warn('schedule.missed', { group: nodeGroup, task: row.taskId, times: missed.count, from: new Date(missed.from).toISOString(), to: new Date(missed.to).toISOString() });
      for (const run of giveWay) this.#end(owned.partition, nodeGroup, run);
      fired(over ? undefined : { ...row, nextAt, fires: row.fires + runs.length, lastAt: runs.at(-1)?.scheduledAt ?? row.lastAt }, outcome, undefined);
    });
    return runs.length + passed.length;
  }

  #backlogOf({ nodeGroup }: ScheduleRow, { partition }: OwnedPartition): DueSchedule['backlog'] {
    const group = this.#groups.group(nodeGroup, partition);
    return { room: this.#backlog.room(group), full: this.#backlog.tell(group) };
  }

  /** Stores a fire; memory follows before `fired` is called. */
  store(owned: OwnedPartition, row: ScheduleRow, limit: number, fire: Fire, fired: Fired): void {
    const { runs, nodeGroup, partition } = fire;
    const group = this.#groups.group(nodeGroup, partition);
    const reserved = runs.map((run) => this.#reserve(owned, group, row, run));
    this.#guarded.begin(partition, nodeGroup, row.taskId, limit, runs);
    this.#pipeline.add(fire, (outcome, error) => {
      const stored = outcome as FireOutcome | undefined;
      const applied = stored?.applied === true;
      runs.forEach((run, index) => {
        const made = applied ? stored.runs[index] : undefined;
        this.#unreserve(group, run, run.job ?? row.job, reserved[index], made?.placement === 'started');
        // Loaded anew meanwhile: the load has told of it.
        if (this.#groups.partitions.get(partition) !== owned) return;
        if (made === undefined) this.#guarded.ended(run.id);
        else this.#made(group, row, fire, run, made, reserved[index]);
      });
      fired(stored, error);
      for (const again of this.#waiting.splice(0)) again();
    }, runs.reduce((bytes, { job }) => bytes + (job?.length ?? 0), bytesOf(fire)));
  }

  #reserve(owned: OwnedPartition, group: GroupQueue, row: ScheduleRow, run: FireRun): Reserved | undefined {
    if (run.held) return undefined;
    const job = run.job ?? row.job;
    const worker = job === undefined ? undefined : this.#dispatcher.reserve(group, row.type, job.length);
    if (worker === undefined) {
      group.admitting++;
      return undefined;
    }
    run.start = { worker: worker.identity, fence: this.#groups.nextFence(owned) };
    return { worker, session: worker.session };
  }

  #unreserve(group: GroupQueue, run: FireRun, job: Buffer | undefined, reserved: Reserved | undefined, started: boolean): void {
    if (run.held) return;
    if (reserved === undefined) {
      group.admitting--;
      return;
    }
    reserved.session?.unreserve(job?.length ?? 0);
    group.gate.end(started);
    if (!started) this.#dispatcher.dispatch(group);
  }

  #made(group: GroupQueue, { type, priority, policy, job: jobOfSchedule }: ScheduleRow, { partition, at }: Fire, run: FireRun, made: FireOutcome['runs'][number], reserved: Reserved | undefined): void {
    const { id, scheduledAt, start } = run;
    const job = run.job ?? jobOfSchedule;
    switch (made.placement) {
      case 'started':
        if (reserved === undefined || start === undefined || job === undefined) break;
        this.#dispatcher.handOut({ partition, id, nodeGroup: group.name, type, priority, dueAt: scheduledAt, createdAt: at, policy, job, start }, made.seq, reserved.worker, reserved.session);
        break;
      case 'ready':
        this.#dispatcher.enter({
          seq: made.seq,
          id,
          nodeGroup: group.name,
          type,
          priority,
          dueAt: scheduledAt,
          scheduledAt,
          policy,
          attempts: 0,
          retryTimes: 0,
          lostTimes: 0,
          job: job !== undefined && job.length <= smallJobBytes ? job : undefined,
        });
        break;
      case 'waiting':
        group.waiting++;
        break;
    }
    this.#guarded.made(id, made.seq);
  }

  /** On failure it is left to end by itself: the new run is held until then. */
  #end(partition: number, nodeGroup: string, { id, state, message }: GivesWay): void {
    const ended = (outcome: Outcome | undefined, error: LtsError | undefined): void => {
      if (error === undefined) this.#settlement.cancelled(nodeGroup, outcome as CancelOutcome, message);
    };
    const cancel: Cancel = { kind: 'cancel', partition, nodeGroup, id, at: this.#clock.now() };
    this.#pipeline.add({ ...cancel, as: { state, message } }, ended);
    // What a worker has, the first one leaves alone.
    if (state === 'CANCELLED') this.#pipeline.add(cancel, ended);
  }
}

/** About what a fire brings into the store beside jobs. */
function bytesOf({ runs, passed }: Fire): number {
  return 256 + 1_024 * (runs.length + passed.length);
}
