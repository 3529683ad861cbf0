import { type Admit, type Alter, type Enroll, type Fire, type FireRun, heldUntil } from '../../services/job-tracker/queue/queue-store.js';
import type { EndModel } from './queue-store-reference-left.js';
import type { Instance, Sent } from './queue-store-reference.js';

/** A live schedule; its number is the id of what was sent first. */
export interface ModelSchedule {
  sched: string;
  version: number;
  id: string;
  state: 'ACTIVE' | 'SUSPENDED';
  nextAt: number | undefined;
  fires: number;
  lastAt: number | undefined;
  updatedAt: number;
  sent: Enroll;
}

/** What the model of schedules needs of that of the instances. */
interface Queues {
  sent: Map<string, Sent>;
  has(id: string): boolean;
  /** The newest live one-shot instance of a task. */
  oneShot(taskId: string): Instance | undefined;
  add(instance: Instance): void;
  addLive(run: Instance): void;
  runsOf(taskId: string): Instance[];
}

/** The schedules of one group, as simply as they can be written down. */
export class ScheduleModel {
  readonly #nodeGroup: string;
  readonly #queues: Queues;
  readonly #ends: EndModel;
  readonly #live = new Map<string, ModelSchedule>();

  constructor(nodeGroup: string, queues: Queues, ends: EndModel) {
    this.#nodeGroup = nodeGroup;
    this.#queues = queues;
    this.#ends = ends;
  }

  of(taskId: string): ModelSchedule | undefined {
    return this.#live.get(taskId);
  }

  /** In the order of a list. */
  rows(): unknown[] {
    return [...this.#live.values()]
      .toSorted((a, b) => (a.sent.taskId < b.sent.taskId ? -1 : 1))
      .map(({ sent, ...schedule }) => ({
        ...schedule, nodeGroup: this.#nodeGroup, taskId: sent.taskId, type: sent.type, priority: sent.priority, needFeedback: sent.needFeedback,
        submitNodeGroup: sent.submitNodeGroup, plan: sent.plan, createdAt: sent.createdAt,
      }));
  }

  /** The ids of those that fire, by time and number. */
  due(): string[] {
    const due = [...this.#live.values()].filter(({ nextAt }) => nextAt !== undefined);
    return due.toSorted((a, b) => (a.nextAt ?? 0) - (b.nextAt ?? 0)).map(({ id }) => id);
  }

  resting(): string[] {
    return [...this.#live.values()].filter(({ state, nextAt }) => state === 'ACTIVE' && nextAt === undefined).map(({ id }) => id);
  }

  again(t: Admit | Enroll): object | undefined {
    const before = this.#queues.sent.get(t.id);
    if (before === undefined) return undefined;
    if (!before.transition.job.equals(t.job)) return { result: 'conflict' };
    return { result: 'again', first: before.first, existingId: before.existingId };
  }

  ignore(t: Admit | Enroll, existingId: string): object {
    if (t.clientId) this.#queues.sent.set(t.id, { transition: t, first: 'duplicate', existingId });
    return { result: 'duplicate', existingId };
  }

  enroll(t: Enroll): object {
    const again = this.again(t);
    if (again !== undefined) return again;
    const oneShot = this.#queues.oneShot(t.taskId);
    if (oneShot !== undefined) return this.ignore(t, oneShot.id);
    const old = this.#live.get(t.taskId);
    if (old !== undefined && (!t.replaceOnExist || (t.fromFailStore === true && t.id < old.id))) return this.ignore(t, old.id);
    const owed = old?.state === 'ACTIVE' && old.nextAt !== undefined && old.nextAt <= t.createdAt;
    const { sched, version } = old === undefined ? { sched: t.id, version: 1 } : { sched: old.sched, version: old.version + 1 };
    this.#live.set(t.taskId, { sched, version, id: t.id, state: 'ACTIVE', nextAt: owed ? old.nextAt : t.nextAt, fires: 0, lastAt: old?.lastAt, updatedAt: t.createdAt, sent: t });
    this.#queues.sent.set(t.id, { transition: t, first: old === undefined ? 'accepted' : 'replaced', existingId: old?.id ?? '' });
    if (old === undefined) return { result: 'accepted', sched, version };
    this.#letGoOn(t.taskId);
    return { result: 'replaced', sched, version, existingId: old.id };
  }

  fire(t: Fire, named: string | undefined): object {
    const not = { applied: false, again: false, runs: [] };
    const schedule = [...this.#live.values()].find(({ sched }) => sched === named);
    if (schedule?.version !== t.version) return not;
    if (t.from !== undefined && (schedule.state !== 'ACTIVE' || schedule.nextAt !== t.from)) return not;
    if (t.from === undefined && t.runs.some(({ id }) => this.#queues.has(id) || this.#queues.sent.has(id))) return { ...not, again: true };
    const runs = t.runs.map((run) => this.#make(run, t, schedule.sent));
    for (const { id, taskKey, scheduledAt, state } of t.passed) {
      this.#queues.add({ ...this.#instance(id, taskKey, scheduledAt, schedule.sent), state, endedAt: t.at });
    }
    const counted = t.runs.filter(({ counts }) => counts);
    if (t.from !== undefined) {
      Object.assign(schedule, { nextAt: t.nextAt, fires: schedule.fires + counted.length, lastAt: counted.map(({ scheduledAt }) => scheduledAt).concat(schedule.lastAt ?? []).toSorted((a, b) => a - b).at(-1) });
      if (t.over) this.end(schedule.sent.taskId);
    }
    return { applied: true, again: false, runs };
  }

  alter(t: Alter): object {
    const schedule = this.#live.get(t.taskId);
    const outcome = { result: 'unknown', sched: 0 as string | number, version: 0, cancelled: [] as object[], running: [] as object[] };
    if (schedule === undefined) return outcome;
    const told = { ...outcome, sched: schedule.sched };
    const needed = t.change === 'resume' || t.change === 'next';
    if ((needed || t.version !== undefined) && t.version !== schedule.version) return { ...told, result: 'stale', version: schedule.version };
    if (this.#standsSo(t.change, schedule)) return { ...told, result: 'unchanged', version: schedule.version };
    const by = t.change === 'suspend' || t.change === 'delete' ? t.change : undefined;
    if (by !== undefined && this.#ends.areTooMany(t.taskId, t)) return { ...told, result: 'many', version: schedule.version };
    if (t.change === 'delete') this.end(t.taskId);
    else {
      schedule.version++;
      schedule.updatedAt = t.at;
      schedule.state = t.change === 'suspend' ? 'SUSPENDED' : 'ACTIVE';
      schedule.nextAt = t.change === 'suspend' ? undefined : t.nextAt;
    }
    if (t.change === 'resume') this.#letGoOn(t.taskId);
    return { ...told, ...(by === undefined ? {} : this.#ends.stop(t.taskId, by, t.at, t)), result: 'done', version: schedule.version };
  }

  end(taskId: string): ModelSchedule | undefined {
    const schedule = this.#live.get(taskId);
    this.#live.delete(taskId);
    return schedule;
  }

  #standsSo(change: Alter['change'], { state, nextAt }: ModelSchedule): boolean {
    if (change === 'suspend') return state === 'SUSPENDED';
    if (change === 'resume') return state === 'ACTIVE';
    return change === 'next' && (state === 'SUSPENDED' || nextAt !== undefined);
  }

  #letGoOn(taskId: string): void {
    for (const run of this.#queues.runsOf(taskId)) run.last = false;
  }

  #make(run: FireRun, t: Fire, sent: Enroll): object {
    const made = this.#instance(run.id, run.taskKey, run.scheduledAt, sent);
    this.#queues.addLive(made);
    if (run.held) Object.assign(made, { state: 'WAITING', dueAt: heldUntil });
    else if (run.start !== undefined) Object.assign(made, { state: 'EXECUTING', attempts: 1 });
    return { seq: run.id, placement: run.held ? 'waiting' : run.start === undefined ? 'ready' : 'started' };
  }

  #instance(id: string, key: string, scheduledAt: number, { type, priority, needFeedback, submitNodeGroup }: Enroll): Instance {
    return {
      id, key, type, priority, state: 'READY', dueAt: scheduledAt, scheduledAt, endedAt: 0, attempts: 0, retryTimes: 0, lostTimes: 0,
      owes: needFeedback ? submitNodeGroup : undefined, last: false,
    };
  }
}
