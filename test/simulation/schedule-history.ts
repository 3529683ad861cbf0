import type { Alter, AlterOutcome, Cancel, Enroll, Fire, Outcome, PassedTime, Transition } from '../../services/job-tracker/queue/queue-store.js';
import { heldUntil } from '../../services/job-tracker/queue/queue-store.js';
import { isByHand, isGuarded, isRunKey } from '../../services/job-tracker/queue/task-key.js';
import { planFromText } from '../../shared/schedule/schedule-plan.js';
import type { Process } from './scheduler.js';
import type { SimSchedule } from './schedules.js';
import { type Row, type Tables, taskKey } from './store/rows.js';

/** A live schedule, as the commits so far have made it. */
interface Track {
  schedule: SimSchedule;
  nextAt: number | undefined;
  /** Where the grid begins; 0: multiples of the period. */
  origin: number;
  runs: number;
  /** The last scheduled time that became a run. */
  lastRun: number;
}

/** What the runs of a task are held to, over all the schedules that it had. */
interface Task {
  limits: Set<number>;
  lastFence: number;
  /** Runs that have begun and not ended. */
  open: Map<string, { id: string; attempt: number; process: Process }>;
}

/** How an attempt ends although its run may go on: its worker was lost, or has given up a run that does not stop. */
const givenUp = new Set(['LOST', 'EXCEPTION', 'INTERRUPTED']);

/** What a run that has just ended may still have discarded: the fire was on its way, and clocks were set ahead meanwhile. */
const onItsWayMs = 45_000 + 65_000;

/**
 * Holds every commit of schedules against what was asked for. Each scheduled time becomes a run or a row that says why
 * not, in its order, once (2, 9); runs do not overlap beyond the limit (11); repeats run as often as asked (12).
 */
export class ScheduleHistory {
  readonly #schedules: ReadonlyMap<string, SimSchedule>;
  readonly #violate: (promise: number, message: string) => void;
  /** Whether clocks stay close to the truth. */
  readonly #steady: boolean;
  readonly #tracks = new Map<number, Track>();
  readonly #tasks = new Map<string, Task>();
  /** Runs that waited when their end was asked for. */
  readonly #stopped = new Set<string>();
  /** Of each run: the number of its schedule, which stays when it is replaced. */
  readonly #scheds = new Map<string, number>();
  /** Of each run: its schedule. */
  readonly madeBy = new Map<string, SimSchedule>();

  constructor(schedules: ReadonlyMap<string, SimSchedule>, steady: boolean, violate: (promise: number, message: string) => void) {
    this.#schedules = schedules;
    this.#steady = steady;
    this.#violate = violate;
  }

  /** A change has taken effect. */
  applied(t: Transition, outcome: Outcome, tables: Tables): void {
    if (t.kind === 'enroll' && outcome.kind === 'enroll' && 'sched' in outcome) this.#enrolled(t, outcome.sched);
    if (t.kind === 'fire' && outcome.kind === 'fire' && outcome.applied) this.#fired(t, tables);
    if (t.kind === 'alter' && outcome.kind === 'alter' && outcome.result === 'done') this.#altered(t, outcome, tables);
    if ((t.kind === 'alter' || t.kind === 'cancel') && (outcome.kind === 'alter' || outcome.kind === 'cancel') && outcome.left === true) this.#left(t, tables);
    if (t.kind === 'release' && outcome.kind === 'release' && outcome.ready !== undefined) this.#goes(tables.rows.get(t.seq), tables);
    if (t.kind === 'start' && outcome.kind === 'start' && outcome.started) this.#started(tables.rows.get(t.seq), t.fence);
  }

  /** An attempt of a run begins on a worker: 11, no other run of the task goes on, unless its attempt was given up. */
  began(row: Row, attempt: number, process: Process): void {
    // A task that comes late, after its attempt was declared lost, may begin whatever goes on by now.
    if (!isGuarded(row.key) || givenUp.has(this.#record(row.id, attempt))) return;
    const { open, limits } = this.#task(row);
    for (const other of open.values()) {
      if (!other.process.alive || other.id === row.id || limits.size > 1 || !limits.has(1)) continue;
      const record = this.#record(other.id, other.attempt);
      if (!givenUp.has(record)) this.#violate(11, `${row.id}/${attempt} began on ${process.name} while ${other.id}/${other.attempt} of the same task ran on ${other.process.name}, ${record}`);
    }
    open.set(`${row.id}/${attempt}`, { id: row.id, attempt, process });
  }

  ended(row: Row, attempt: number): void {
    if (isGuarded(row.key)) this.#task(row).open.delete(`${row.id}/${attempt}`);
  }

  /** How an attempt stands in the store; given by the world. */
  #record: (id: string, attempt: number) => string = () => '';

  set record(of: (id: string, attempt: number) => string) {
    this.#record = of;
  }

  /** Schedules whose next time came before `now`, or that have none and had nothing to wait for since then. */
  overdue(tables: Tables, now: number): string[] {
    return [...tables.schedules.values()].flatMap(({ taskId, nodeGroup, state, nextAt, id }) => {
      if (state === 'SUSPENDED') return [];
      if (nextAt !== undefined) return nextAt >= now ? [] : [`${id} (${taskId} of ${nodeGroup}) was to fire ${now - nextAt} ms ago`];
      const waits = [...tables.rows.values()].some((row) => row.taskId === taskId && row.nodeGroup === nodeGroup && !isByHand(row.key) && (tables.live.has(row.seq) || row.endedAt >= now));
      return waits ? [] : [`${id} (${taskId} of ${nodeGroup}) rests, and none of its runs lives`];
    });
  }

  #enrolled({ id, nextAt, createdAt, nodeGroup, taskId, plan }: Enroll, sched: number): void {
    const schedule = this.#schedules.get(id);
    if (schedule === undefined) return this.#violate(0, `${id} was enrolled, and nobody made it`);
    const old = this.#tracks.get(sched);
    // A time that had come before the schedule was replaced is owed still.
    const owed = old?.nextAt !== undefined && old.nextAt <= createdAt ? old.nextAt : undefined;
    const track: Track = { schedule, nextAt: owed ?? nextAt, origin: schedule.times === 'cron' ? 0 : firstOf(plan), runs: 0, lastRun: old?.lastRun ?? Number.NEGATIVE_INFINITY };
    this.#tracks.set(sched, track);
    this.#task({ nodeGroup, taskId }).limits.add(schedule.blocking.limit);
    if (nextAt === undefined || nextAt < createdAt) this.#violate(9, `${id} was enrolled at ${createdAt} and fires first at ${nextAt}`);
    else if (schedule.times === 'cron') this.#onGrid(track, nextAt, createdAt);
  }

  /** From now on it is the next time. */
  #onGrid({ schedule: { id, periodMs }, origin }: Track, nextAt: number, now: number): void {
    if ((nextAt - origin) % periodMs !== 0 || nextAt > Math.max(now, origin) + periodMs) this.#violate(9, `${id} fires at ${nextAt}, which is not the next time after ${now}`);
  }

  #altered(t: Alter, { sched, running }: AlterOutcome, tables: Tables): void {
    const track = this.#tracks.get(sched);
    if (track === undefined) return;
    const { schedule, lastRun } = track;
    track.nextAt = t.nextAt;
    if (t.change === 'delete') this.#tracks.delete(sched);
    if (t.change === 'resume' && (t.nextAt ?? 0) <= lastRun) this.#violate(2, `${schedule.id} is resumed at ${t.at} and fires again at ${t.nextAt}, it has run for ${lastRun}`);
    if (t.change === 'resume' && schedule.times !== 'delay') this.#onGrid(track, t.nextAt ?? 0, Math.max(t.at, lastRun));
    if (t.change !== 'next') return;
    if (schedule.times !== 'delay' || t.nextAt !== Math.max(t.at + schedule.periodMs, lastRun + 1)) this.#violate(9, `${schedule.id} was given the time ${t.nextAt} at ${t.at}`);
    const going = [...tables.live.values()].find((row) => row.taskId === t.taskId && row.nodeGroup === t.nodeGroup && isGuarded(row.key) && !isByHand(row.key));
    if (going !== undefined) this.#violate(11, `${schedule.id} was given its next time while ${going.id} is ${going.state}; ${running.length} run`);
  }

  #fired(t: Fire, tables: Tables): void {
    const track = this.#tracks.get(t.sched);
    if (track === undefined) return this.#violate(2, `schedule ${t.sched} fires and does not live`);
    const { schedule } = track;
    for (const run of t.runs) {
      const row = tables.byId.get(run.id);
      this.madeBy.set(run.id, schedule);
      this.#scheds.set(run.id, t.sched);
      if (isGuarded(run.taskKey) !== schedule.blocking.limit > 0) this.#violate(11, `${run.id} of ${schedule.id} has the key ${run.taskKey}`);
      if (run.held) continue;
      this.#withinLimit(schedule, t, tables);
      this.#goes(row, tables);
      if (run.start !== undefined) this.#started(row, run.start.fence);
    }
    if (t.from === undefined) return;
    // It ran before the schedule was replaced, or the clock set back: nothing becomes of it but the time after the last run.
    if (t.runs.length + t.passed.length === 0 && track.lastRun >= t.from) this.#passesOver(track, t);
    else {
      this.#timesFollow(track, t);
      this.#misfires(track, t);
    }
    for (const each of t.passed) if (each.state === 'DISCARDED') this.#discarded(schedule, each, t, tables);
    this.#counts(track, t);
    track.nextAt = t.nextAt;
    if (t.over) this.#tracks.delete(t.sched);
  }

  #passesOver({ schedule: { id, periodMs }, lastRun, origin }: Track, { over, nextAt = 0 }: Fire): void {
    if (!over && (nextAt <= lastRun || nextAt > Math.max(lastRun, origin) + periodMs)) this.#violate(2, `${id} fires next at ${nextAt}, it has run for ${lastRun}`);
  }

  /** 2: each time of the grid, from the stored one up to the next, once. */
  #timesFollow(track: Track, { from = 0, nextAt, over, runs, passed }: Fire): void {
    const { id, periodMs, times } = track.schedule;
    const following = (time: number): number => Math.max(track.origin, track.origin + (Math.floor((time - track.origin) / periodMs) + 1) * periodMs);
    const at = (time: number): string => new Date(time).toISOString();
    let expected = from;
    if (track.nextAt !== from) this.#violate(2, `${id} fired from ${at(from)}, its next time was ${track.nextAt}`);
    for (const each of [...runs, ...passed].toSorted((a, b) => a.scheduledAt - b.scheduledAt)) {
      const older = /and (\d+|at least 9999) earlier times from (\S+) on/.exec('message' in each ? each.message : '');
      if (older !== null) {
        const counted = Math.ceil((each.scheduledAt - expected) / periodMs);
        if (older[2] !== at(expected) || (older[1] !== String(counted) && !(counted >= 9_999 && older[1] === 'at least 9999'))) this.#violate(2, `${id} sums up ${older[0]}, they are ${counted} from ${at(expected)} to ${at(each.scheduledAt)}`);
      } else if (each.scheduledAt !== expected) this.#violate(2, `${id} fired for ${at(each.scheduledAt)} where ${at(expected)} was due`);
      expected = following(each.scheduledAt);
      if ('counts' in each) track.lastRun = each.scheduledAt;
    }
    if (!over && nextAt !== (times === 'delay' ? undefined : expected)) this.#violate(2, `${id} fires next at ${nextAt}, ${expected} is due`);
  }

  /** 9: what was missed is treated as asked for; what was not missed is not called so. The time that was due tells which. */
  #misfires({ origin, schedule: { id, misfire, periodMs, times } }: Track, { from = 0, at, nextAt, over, runs, passed }: Fire): void {
    const skipped = passed.filter(({ state }) => state === 'MISSED');
    if (from >= at - misfire.threshold) {
      for (const each of skipped) this.#violate(9, `${id} calls ${each.scheduledAt} missed at ${at}, ${from} was due and the threshold is ${misfire.threshold}`);
      return;
    }
    const rank = ({ scheduledAt }: { scheduledAt: number }): number => (times === 'delay' ? 1 : Math.floor((at - origin) / periodMs) - Math.max(-1, Math.floor((scheduledAt - origin) / periodMs)) + 1);
    const wanted = (each: { scheduledAt: number }): boolean => {
      if (misfire.action === 'SKIP') return false;
      if (misfire.action === 'FIRE_ONCE') return rank(each) === 1;
      return rank(each) <= misfire.newest && (misfire.window === 0 || each.scheduledAt >= at - misfire.window);
    };
    const tried = [...runs, ...passed.filter(({ state }) => state === 'DISCARDED')];
    for (const each of tried.filter((one) => !wanted(one))) this.#violate(9, `${id} runs ${each.scheduledAt} at ${at} with ${misfire.action}`);
    for (const each of skipped.filter(wanted)) this.#violate(9, `${id} misses ${each.scheduledAt} at ${at} with ${misfire.action} ${misfire.newest} ${misfire.window}; next ${nextAt} over ${over}`);
    if (!over && times !== 'delay' && (nextAt ?? 0) <= at) this.#violate(9, `${id} answers what was missed up to ${nextAt} alone, at ${at}`);
  }

  /** 9: it met a run that still went, or its runs have no limit and found a full backlog. */
  #discarded({ id, blocking }: SimSchedule, { scheduledAt, message }: PassedTime, { at, runs }: Fire, tables: Tables): void {
    const full = /^the backlog of group \S+ is full: (\d+) jobs wait, the limit is (\d+)$/.exec(message);
    if (full !== null && (blocking.limit !== 0 || Number(full[1]) < Number(full[2]))) this.#violate(9, `${id} discards ${scheduledAt}: ${message}`);
    if (full !== null) return;
    if (blocking.limit === 0) this.#violate(9, `${id} discards ${scheduledAt}, its runs have no limit`);
    const met = /run ([0-9a-f-]{36})/.exec(message)?.[1];
    if (met === undefined || runs.some((run) => run.id === met)) return;
    const row = tables.byId.get(met);
    const goneForMs = row === undefined ? Number.POSITIVE_INFINITY : tables.live.has(row.seq) ? 0 : at - row.endedAt;
    if (this.#steady && goneForMs > onItsWayMs) this.#violate(9, `${id} discards ${scheduledAt} (${message}) for ${met}, which is over since ${goneForMs} ms`);
  }

  /** 12: never more runs than asked for, and the schedule ends with the last of them. */
  #counts(track: Track, { over, runs }: Fire): void {
    const { id, count } = track.schedule;
    track.runs += runs.filter(({ counts }) => counts).length;
    if (count < 0) {
      if (over) this.#violate(12, `${id} has no end, and ended after ${track.runs} runs`);
    } else if (track.runs > count || over !== (track.runs === count)) this.#violate(12, `${id} was to run ${count} times, has ${track.runs} runs and is ${over ? 'over' : 'not over'}`);
  }

  /** 11: a run that goes at once counts all that go, also those that the schedule has made before it had a limit. */
  #withinLimit({ id, blocking }: SimSchedule, t: Fire, tables: Tables): void {
    if (blocking.limit === 0) return;
    const going = [...tables.live.values()].filter((each) => this.#scheds.get(each.id) === t.sched && each.dueAt !== heldUntil);
    if (going.length > blocking.limit) this.#violate(11, `${id} has ${going.length} runs that go, its limit is ${blocking.limit}`);
  }

  /** 11: one more run goes, and they are within the limit of one of the schedules that the task had. */
  #goes(row: Row | undefined, tables: Tables): void {
    if (row === undefined || !isGuarded(row.key)) return;
    const going = [...tables.live.values()].filter((each) => each.taskId === row.taskId && each.nodeGroup === row.nodeGroup && isGuarded(each.key) && each.dueAt !== heldUntil);
    const most = Math.max(...this.#task(row).limits);
    if (going.length > most) this.#violate(11, `${row.id} goes beside ${going.filter((each) => each !== row).map(({ id, state }) => `${id} ${state}`).join()}, the limit is ${most}`);
  }

  /** 11: a later attempt carries a greater token. */
  #started(row: Row | undefined, fence: number): void {
    if (row !== undefined && this.#stopped.has(row.id)) this.#violate(10, `${row.id} starts although it waited when its schedule was suspended, deleted or cancelled`);
    if (row === undefined || !isGuarded(row.key)) return;
    const task = this.#task(row);
    if (fence <= task.lastFence) this.#violate(11, `${row.id} starts with token ${fence}, its task had ${task.lastFence}`);
    task.lastFence = fence;
  }

  /** 10: what waits and is left to end later does not start any more. */
  #left(t: Alter | Cancel, tables: Tables): void {
    for (const { id, nodeGroup, taskId, key, state } of tables.live.values()) {
      const waits = nodeGroup === t.nodeGroup && taskId === t.taskId && isRunKey(key) && state !== 'EXECUTING' && state !== 'CANCELLING';
      if (waits && !(t.kind === 'alter' && t.change === 'suspend' && isByHand(key))) this.#stopped.add(id);
    }
  }

  #task(of: { nodeGroup: string; taskId: string }): Task {
    const name = taskKey(of);
    const known = this.#tasks.get(name);
    if (known !== undefined) return known;
    const task: Task = { limits: new Set(), lastFence: 0, open: new Map() };
    this.#tasks.set(name, task);
    return task;
  }
}

/** Where the grid of a repeat begins, which may be before it was submitted. */
function firstOf(plan: string): number {
  const { times } = planFromText(plan);
  return times.kind === 'repeat' ? times.first : 0;
}
