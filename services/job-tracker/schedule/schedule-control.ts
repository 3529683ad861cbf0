import { LtsError } from '../../../shared/errors/lts-error.js';
import { quoted } from '../../../shared/errors/quoted.js';
import { decodeJob, encodeJob } from '../../../shared/grpc/job-codec.js';
import { isId } from '../../../shared/ids.js';
import { checkJob, groupForm, taskIdForm } from '../../../shared/job/check-job.js';
import { formatInstant } from '../../../shared/schedule/instant.js';
import type { Timetable } from '../../../shared/schedule/timetable.js';
import type { Clock } from '../../../shared/time/clock.js';
import { formatDuration } from '../../../shared/time/duration.js';
import { checkIdTime } from '../admit/check-id.js';
import type { DiskGuard } from '../admit/disk-guard.js';
import type { AttemptSettlement } from '../complete/settle-attempt.js';
import type { Ownership } from '../lead/ownership.js';
import type { Backlog } from '../queue/backlog.js';
import type { CommitPipeline, Settle } from '../queue/commit-pipeline.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import { type Alter, type AlterOutcome, heldUntil, type PastSchedule, type QueueStore, type ScheduleRow } from '../queue/queue-store.js';
import { Searches } from '../queue/searches.js';
import type { GuardedRuns } from './guarded-runs.js';
import type { Schedules } from './schedules.js';

/** A schedule by its task. */
export interface ScheduleName {
  nodeGroup: string;
  taskId: string;
}

/** A schedule with the times to come. */
export interface ShownSchedule {
  schedule: ScheduleRow;
  /** At most 10; none while it is suspended. Of a fixed delay only the first one is known. */
  nextTimes: number[];
}

/** One run by hand. */
export interface TriggerOrder extends ScheduleName {
  /** UUIDv7; empty: it is made. */
  instanceId: string;
  /** In place of those of the job; none: those of the job. */
  extParams: Readonly<Record<string, string>>;
  /** In place of that of the job. */
  payload: Buffer | undefined;
  /** The scheduled time for which it stands; 0: now. */
  scheduledTime: number;
}

/** What managing stands on. */
export interface ScheduleControlParts {
  ownership: Ownership;
  pipeline: CommitPipeline;
  settlement: AttemptSettlement;
  schedules: Schedules;
  guarded: GuardedRuns;
  groups: OwnedGroups;
  backlog: Backlog;
  store: Pick<QueueStore, 'readSchedule' | 'findSchedule' | 'findPastSchedule' | 'findInstance'>;
  disk: DiskGuard;
  retentionMs: number;
  newId: (now: number) => string;
  clock: Clock;
}

const mostNextTimes = 10;
/** Somebody else may change the schedule in between. */
const mostTries = 5;
/** Runs of one schedule that live at once, when one more is wanted by hand. */
const mostByHand = 1_000;

/**
 * What people do with a schedule. Every method throws INVALID_ARGUMENT for a name that cannot be, NOT_FOUND when no live
 * schedule has it, NOT_OWNER, LOADING or DRAINING when this tracker does not serve its group, and what the store says.
 */
export class ScheduleControl {
  /** Of the whole tracker. */
  readonly searches: Searches;
  readonly #parts: ScheduleControlParts;
  /** Runs by hand that are on their way into the store, by their ids. */
  readonly #triggering = new Map<string, Promise<unknown>>();

  constructor(parts: ScheduleControlParts) {
    this.#parts = parts;
    this.searches = new Searches(parts.clock);
  }

  /** One that is past is given as such until the retention ends, unless only a live one is asked for. */
  async get(name: ScheduleName, liveOnly = false): Promise<ShownSchedule | PastSchedule> {
    this.#require(name);
    const { nodeGroup, taskId } = name;
    const { store, retentionMs } = this.#parts;
    const row = await store.findSchedule(nodeGroup, taskId);
    if (row !== undefined) return this.#show(row);
    if (liveOnly) throw notFound(name);
    const past = await this.searches.run(() => store.findPastSchedule(nodeGroup, taskId));
    if (past !== undefined) return past;
    throw new LtsError('NOT_FOUND', `group ${nodeGroup} has no schedule ${taskId}; check the task and the group with "lts schedule list", or it ended longer ago than the retention of ${formatDuration(retentionMs)}`);
  }

  /** Nothing fires any more; `changed` is false when it was suspended before. */
  async suspend(name: ScheduleName): Promise<ShownSchedule & { changed: boolean }> {
    const partition = this.#require(name);
    const { result } = await this.#alter({ kind: 'alter', change: 'suspend', partition, nodeGroup: name.nodeGroup, taskId: name.taskId, at: this.#parts.clock.now() });
    if (result === 'unknown') throw notFound(name);
    return { ...this.#show(await this.#find(name)), changed: result === 'done' };
  }

  /** Fires again, from now on. Throws NEVER_FIRES when it would not. */
  async resume(name: ScheduleName): Promise<ShownSchedule & { changed: boolean }> {
    const partition = this.#require(name);
    for (let tries = 0; tries < mostTries; tries++) {
      const row = await this.#read(name);
      if (row.state === 'ACTIVE') return { ...this.#show(await this.#find(name)), changed: false };
      const at = this.#parts.clock.now();
      const nextAt = this.#resumedAt(row, at);
      const { result } = await this.#alter({ kind: 'alter', change: 'resume', partition, nodeGroup: name.nodeGroup, taskId: name.taskId, nextAt, version: row.version, at }, row);
      if (result === 'unknown') throw notFound(name);
      if (result !== 'stale') return { ...this.#show(await this.#find(name)), changed: result === 'done' };
    }
    throw changedMeanwhile(name);
  }

  /** Ends the schedule. The ids of the runs that go on, and of those that waited; `more`: of very many others end afterwards. */
  async remove(name: ScheduleName): Promise<{ running: string[]; cancelled: string[]; more: boolean }> {
    const partition = this.#require(name);
    const { result, running, cancelled, left } = await this.#alter({ kind: 'alter', change: 'delete', partition, nodeGroup: name.nodeGroup, taskId: name.taskId, at: this.#parts.clock.now() });
    if (result === 'unknown') throw notFound(name);
    return { running: running.map(({ id }) => id), cancelled: cancelled.map(({ id }) => id), more: left === true };
  }

  /** One run now. Throws INSTANCE_ID_CONFLICT when the id is that of something else, BACKLOG_FULL when too many wait, DISK_LOW. */
  async trigger(order: TriggerOrder): Promise<{ instanceId: string; waits: boolean }> {
    const { instanceId } = order;
    // The same call twice at once: the second one finds what the first one has made.
    for (let first = this.#triggering.get(instanceId); first !== undefined; first = this.#triggering.get(instanceId)) await first.catch(() => undefined);
    const made = this.#trigger(order);
    if (instanceId === '') return made;
    this.#triggering.set(instanceId, made);
    return made.finally(() => this.#triggering.delete(instanceId));
  }

  async #trigger(order: TriggerOrder): Promise<{ instanceId: string; waits: boolean }> {
    const { nodeGroup, taskId, instanceId, scheduledTime } = order;
    this.#require(order);
    const { clock, newId, disk, retentionMs, schedules, guarded, groups, backlog } = this.#parts;
    const now = clock.now();
    if (scheduledTime > now) throw new LtsError('INVALID_ARGUMENT', `scheduled_time is ${scheduledTime} (${formatInstant(scheduledTime) ?? 'beyond all calendars'}), which is still to come; give a time that has passed, or leave it out to run now`);
    disk.requireRoom();
    if (instanceId !== '' && !isId(instanceId)) throw new LtsError('INVALID_ARGUMENT', `instance_id is ${quoted(instanceId)}; use a UUIDv7 in lower case, or leave it out`);
    if (instanceId !== '') checkIdTime(instanceId, now, retentionMs);
    const id = instanceId === '' ? newId(now) : instanceId;
    for (let tries = 0; tries < mostTries; tries++) {
      const row = await this.#read(order);
      if (guarded.has(id)) return this.#again(order, id);
      const runs = guarded.find(nodeGroup, taskId)?.runs.length ?? 0;
      if (runs >= mostByHand) throw new LtsError('BACKLOG_FULL', `task ${taskId} of group ${nodeGroup} has ${runs} runs that have not ended, at most ${mostByHand} are possible; wait, or cancel some`);
      const job = await this.#jobOf(order);
      const group = groups.group(nodeGroup, this.#require(order));
      if (backlog.room(group) <= 0) {
        if (instanceId !== '' && (await this.#parts.store.findInstance({ id })) !== undefined) return this.#again(order, id);
        throw backlog.refusal(group);
      }
      const made = await schedules.runByHand(this.#require(order), row, { id, scheduledAt: scheduledTime === 0 ? now : scheduledTime, job });
      if (made.again) return this.#again(order, id);
      if (made.applied) return { instanceId: id, waits: made.held };
    }
    throw changedMeanwhile(order);
  }

  /** The same call was made before. */
  async #again({ nodeGroup, taskId }: ScheduleName, id: string): Promise<{ instanceId: string; waits: boolean }> {
    const known = await this.#parts.store.findInstance({ id });
    if (known !== undefined && known.nodeGroup === nodeGroup && known.taskId === taskId) return { instanceId: id, waits: known.dueAt === heldUntil };
    throw new LtsError('INSTANCE_ID_CONFLICT', `instance_id ${id} was used before, for something else than a run of task ${taskId} of group ${nodeGroup}; use a new id`);
  }

  #require({ nodeGroup, taskId }: ScheduleName): number {
    if (!groupForm.test(nodeGroup)) throw new LtsError('INVALID_ARGUMENT', `node_group is ${quoted(nodeGroup)}; name the group of the schedule`);
    if (!taskIdForm.test(taskId)) throw new LtsError('INVALID_ARGUMENT', `task_id is ${quoted(taskId)}; use the task_id of the schedule`);
    return this.#parts.ownership.require(nodeGroup);
  }

  /** As its owner must see it, in the order of the commits. */
  async #read(name: ScheduleName): Promise<ScheduleRow> {
    const row = await this.#parts.store.readSchedule(name.nodeGroup, name.taskId);
    if (row === undefined) throw notFound(name);
    return row;
  }

  /** With its job. */
  async #find(name: ScheduleName): Promise<ScheduleRow> {
    const row = await this.#parts.store.findSchedule(name.nodeGroup, name.taskId);
    if (row === undefined) throw notFound(name);
    return row;
  }

  #show(schedule: ScheduleRow): ShownSchedule {
    const { plan, timetable } = this.#parts.schedules.plans.of(schedule);
    const { nextAt, fires } = schedule;
    if (nextAt === undefined) return { schedule, nextTimes: [] };
    if (plan.times.kind === 'repeat' && plan.times.fixedDelay) return { schedule, nextTimes: [nextAt] };
    const left = plan.count < 0 ? mostNextTimes : Math.min(mostNextTimes, plan.count - fires);
    return { schedule, nextTimes: timesFrom(timetable, nextAt, left) };
  }

  #resumedAt(row: ScheduleRow, now: number): number {
    const { plan, timetable } = this.#parts.schedules.plans.of(row);
    const { times, endAt, count } = plan;
    // A time that has run does not run again, also when the clock has been set back since.
    const from = Math.max(now, (row.lastAt ?? -1) + 1);
    const next = times.kind === 'repeat' && times.fixedDelay ? Math.max(times.first, from, now + times.interval) : timetable.next(from);
    if (next === undefined || (endAt !== 0 && next > endAt)) throw new LtsError('NEVER_FIRES', `task ${row.taskId} of group ${row.nodeGroup} has no time to come; submit it anew with other times, or delete it`);
    if (count >= 0 && row.fires >= count) throw new LtsError('NEVER_FIRES', `task ${row.taskId} of group ${row.nodeGroup} has had all its ${count} runs; submit it anew, or delete it`);
    return next;
  }

  /** Stores the change; memory follows. */
  #alter(alter: Alter, row?: ScheduleRow): Promise<AlterOutcome> {
    const { pipeline, schedules, settlement } = this.#parts;
    const { change, partition, nodeGroup, taskId, nextAt, at } = alter;
    return new Promise((resolve, reject) => {
      const settle: Settle = (outcome, error) => {
        if (error !== undefined) return reject(error);
        const altered = outcome as AlterOutcome;
        if (altered.result === 'done' && row !== undefined) schedules.stands(partition, { ...row, state: 'ACTIVE', nextAt, version: altered.version, updatedAt: at });
        if (altered.result === 'done' && row === undefined) schedules.gone(partition, nodeGroup, taskId);
        settlement.cancelled(nodeGroup, { cancelled: altered.cancelled, cancelling: [] });
        resolve(altered);
      };
      if (change === 'suspend' || change === 'delete') schedules.ending.end(alter, change, settle);
      else pipeline.add(alter, settle);
    });
  }

  /** Undefined: that of the schedule. */
  async #jobOf({ nodeGroup, taskId, extParams, payload }: TriggerOrder): Promise<Buffer | undefined> {
    const otherParams = Object.keys(extParams).length > 0;
    if (!otherParams && payload === undefined) return undefined;
    const { job } = await this.#find({ nodeGroup, taskId });
    const own = decodeJob(job ?? Buffer.alloc(0));
    checkJob({ task_id: taskId, node_group: nodeGroup, ext_params: extParams, payload });
    return encodeJob({ ...own, ...(otherParams ? { ext_params: { ...extParams } } : {}), ...(payload === undefined ? {} : { payload }) });
  }
}

function timesFrom(timetable: Timetable, first: number, most: number): number[] {
  const times: number[] = [];
  for (let at: number | undefined = first; at !== undefined && times.length < most; at = timetable.next(at + 1)) times.push(at);
  return times;
}

function notFound({ nodeGroup, taskId }: ScheduleName): LtsError {
  return new LtsError('NOT_FOUND', `group ${nodeGroup} has no schedule ${taskId} that lives; see "lts schedule get" whether it has ended, and check the task and the group`);
}

function changedMeanwhile({ nodeGroup, taskId }: ScheduleName): LtsError {
  return new LtsError('VERSION_CONFLICT', `schedule ${taskId} of group ${nodeGroup} is changed by others all the time; call again`);
}
