import { type Admit, type Cancel, type Enroll, type Finish, type GroupLimits, heldUntil, type Transition } from '../../services/job-tracker/queue/queue-store.js';
import { isRunKey, taskIdOf } from '../../services/job-tracker/queue/task-key.js';
import { EndModel } from './queue-store-reference-left.js';
import { ScheduleModel } from './queue-store-reference-schedules.js';

export interface Instance {
  id: string;
  /** Its task_id, or of a run its task key. */
  key: string;
  type: string;
  priority: number;
  state: string;
  dueAt: number;
  scheduledAt: number;
  endedAt: number;
  attempts: number;
  retryTimes: number;
  lostTimes: number;
  owes: string | undefined;
  /** It does not wait again. */
  last: boolean;
}

export interface Sent {
  transition: Admit | Enroll;
  first: 'accepted' | 'replaced' | 'duplicate';
  existingId: string;
}

type NameOf = (seq: number) => string | undefined;

/** The queues of one group, as simply as they can be written down. Outcomes carry ids where the store gives arrival numbers. */
export class QueueModel {
  /** `id state` of what is owed, in the order of the ends. */
  readonly owed: string[] = [];
  readonly #nodeGroup: string;
  readonly schedules: ScheduleModel;
  readonly ends: EndModel;
  readonly #instances = new Map<string, Instance>();
  readonly #sent = new Map<string, Sent>();
  #limits: GroupLimits | undefined;
  readonly #tasks = new Map<string, { current: Instance; next: Instance | undefined }>();

  constructor(nodeGroup: string) {
    this.#nodeGroup = nodeGroup;
    const runsOf = (taskId: string): Instance[] => this.#runsOf(taskId);
    this.ends = new EndModel({ runsOf, endQueued: (run, at) => this.#endQueued(run, { state: 'CANCELLED', at }) });
    this.schedules = new ScheduleModel(nodeGroup, {
      sent: this.#sent,
      has: (id) => this.#instances.has(id),
      oneShot: (taskId) => this.#tasks.get(taskId)?.next ?? this.#tasks.get(taskId)?.current,
      add: (instance) => this.#instances.set(instance.id, instance),
      addLive: (instance) => {
        this.#instances.set(instance.id, instance);
        this.#tasks.set(instance.key, { current: instance, next: undefined });
      },
      runsOf,
    }, this.ends);
  }

  apply(t: Transition, nameOf: NameOf, scheduleOf: NameOf): unknown {
    switch (t.kind) {
      case 'admit':
        return { kind: 'admit', ...this.#admit(t) };
      case 'start': {
        const instance = this.#of(nameOf(t.seq));
        const started = instance.state === 'READY' && instance.attempts === t.attempt - 1;
        if (started) Object.assign(instance, { state: 'EXECUTING', attempts: t.attempt });
        return { kind: 'start', started };
      }
      case 'reassign':
        return { kind: 'reassign', applied: this.#runs(this.#of(nameOf(t.seq)), t.attempt) };
      case 'finish':
        return { kind: 'finish', ...this.#finish(this.#of(nameOf(t.seq)), t) };
      case 'cancel':
        return { kind: 'cancel', ...this.#cancel(t) };
      case 'promote': {
        const due = this.#waiting().filter((instance) => instance.dueAt <= t.now).slice(0, t.limit);
        const ready = due.map((instance) => this.#enqueue(instance, t.now).ready);
        const nextDueAt = this.nextDueAt();
        return { kind: 'promote', ready, ...(nextDueAt === undefined ? {} : { nextDueAt }) };
      }
      case 'limit':
        this.#limits = t.limits;
        return { kind: 'limit' };
      case 'enroll':
        return { kind: 'enroll', ...this.schedules.enroll(t) };
      case 'fire':
        return { kind: 'fire', ...this.schedules.fire(t, scheduleOf(t.sched)) };
      case 'alter':
        return { kind: 'alter', ...this.schedules.alter(t) };
      case 'endRuns':
        return { kind: 'endRuns', ...this.ends.goOn(t) };
      case 'release':
        return { kind: 'release', ...this.#release(this.#of(nameOf(t.seq)), t.at) };
      case 'late':
        return { kind: 'late', known: t.attempt > 0 && t.attempt <= this.#of(t.id).attempts };
    }
  }

  instances(): unknown[] {
    return [...this.#instances.values()].map(({ id, key, state, attempts, retryTimes, lostTimes, dueAt, endedAt }) => ({
      id, taskId: taskIdOf(key), state: state === 'BLOCKED' ? 'WAITING' : state, blocked: state === 'BLOCKED', attempts, retryTimes, lostTimes, endedAt,
      ...(endedAt === 0 ? { dueAt } : {}),
    }));
  }

  readyIds(): string[] {
    const ready = [...this.#instances.values()].filter((instance) => instance.state === 'READY');
    return ready.toSorted((a, b) => a.priority - b.priority || a.dueAt - b.dueAt).map(({ id }) => id);
  }

  executing(): unknown[] {
    const running = [...this.#instances.values()].filter(({ state }) => state === 'EXECUTING' || state === 'CANCELLING');
    return running.map(({ id, attempts, state }) => ({ id, attempt: attempts, cancelling: state === 'CANCELLING' }));
  }

  counts(): unknown {
    const states = [...this.#instances.values()].map(({ state }) => state);
    const of = (...wanted: string[]) => states.filter((state) => wanted.includes(state)).length;
    const limits = Object.values(this.#limits ?? {}).every((value) => value === undefined) ? {} : { limits: this.#limits };
    return { nodeGroup: this.#nodeGroup, waiting: of('WAITING', 'BLOCKED'), ready: of('READY'), ...limits };
  }

  nextDueAt(): number | undefined {
    return this.#waiting()[0]?.dueAt;
  }

  attemptsOf(id: string): number {
    return this.#of(id).attempts;
  }

  lives(id: string): boolean {
    return this.#of(id).endedAt === 0;
  }

  taskOf(id: string): string {
    return taskIdOf(this.#of(id).key);
  }

  guarded(): unknown[] {
    const live = [...this.#instances.values()].filter(({ key, endedAt }) => key.startsWith('#') && endedAt === 0);
    return live.map(({ id, key, state, dueAt }) => ({
      seq: id, id, nodeGroup: this.#nodeGroup, taskKey: key, dueAt, stands: state !== 'WAITING' ? 'active' : dueAt === heldUntil ? 'held' : 'waiting',
    }));
  }

  /** What was sent under ids that stay known. */
  sent(): Sent[] {
    return [...this.#sent.values()];
  }

  #of(id: string | undefined): Instance {
    const instance = this.#instances.get(id ?? '');
    if (instance === undefined) throw new Error(`the model has no ${id}`);
    return instance;
  }

  #waiting(): Instance[] {
    return [...this.#instances.values()].filter(({ state, dueAt }) => state === 'WAITING' && dueAt < heldUntil).toSorted((a, b) => a.dueAt - b.dueAt);
  }

  #runs(instance: Instance, attempt: number): boolean {
    return (instance.state === 'EXECUTING' || instance.state === 'CANCELLING') && instance.attempts === attempt;
  }

  #admit(t: Admit): object {
    const again = this.schedules.again(t);
    if (again !== undefined) return again;
    const schedule = this.schedules.of(t.taskId);
    if (schedule !== undefined) return this.schedules.ignore(t, schedule.id);
    const instance: Instance = {
      id: t.id, key: t.taskId, type: t.type, priority: t.priority, state: 'BLOCKED', dueAt: t.dueAt, scheduledAt: t.dueAt, endedAt: 0, attempts: 0, retryTimes: 0, lostTimes: 0,
      owes: t.needFeedback ? t.submitNodeGroup : undefined, last: false,
    };
    const task = this.#tasks.get(t.taskId);
    if (task === undefined) {
      this.#tasks.set(t.taskId, { current: instance, next: undefined });
      return this.#accept(t, instance, this.#place(t, instance));
    }
    if (task.next === undefined && (task.current.state === 'EXECUTING' || task.current.state === 'CANCELLING')) {
      task.next = instance;
      return this.#accept(t, instance, 'blocked');
    }
    const existing = task.next ?? task.current;
    if (!t.replaceOnExist || (t.fromFailStore === true && t.id < existing.id)) return this.schedules.ignore(t, existing.id);
    const existingPlacement = existing.state.toLowerCase();
    Object.assign(existing, { state: 'REPLACED', endedAt: t.createdAt });
    if (existing === task.next) task.next = instance;
    else task.current = instance;
    const placement = instance === task.next ? 'blocked' : this.#place(t, instance);
    this.#instances.set(t.id, instance);
    this.#sent.set(t.id, { transition: t, first: 'replaced', existingId: existing.id });
    return { result: 'replaced', seq: t.id, placement, existingId: existing.id, existingSeq: existing.id, existingPlacement };
  }

  #accept(t: Admit, instance: Instance, placement: string): object {
    this.#instances.set(t.id, instance);
    this.#sent.set(t.id, { transition: t, first: 'accepted', existingId: '' });
    return { result: 'accepted', seq: t.id, placement };
  }

  #place(t: Admit, instance: Instance): string {
    if (t.start !== undefined && t.dueAt <= t.createdAt) {
      Object.assign(instance, { state: 'EXECUTING', attempts: 1 });
      return 'started';
    }
    this.#enqueue(instance, t.createdAt);
    return instance.state.toLowerCase();
  }

  #enqueue(instance: Instance, now: number): { ready?: object; waitingUntil?: number } {
    const { id, type, priority, dueAt, scheduledAt, attempts, retryTimes, lostTimes } = instance;
    instance.state = dueAt <= now ? 'READY' : 'WAITING';
    if (instance.state === 'WAITING') return { waitingUntil: dueAt };
    return { ready: { nodeGroup: this.#nodeGroup, id, seq: id, type, priority, dueAt, scheduledAt, attempts, retryTimes, lostTimes } };
  }

  #finish(instance: Instance, t: Finish): object {
    if (!this.#runs(instance, t.attempt)) return { applied: false };
    if ('dueAt' in t.next) {
      if (instance.state === 'CANCELLING') return { applied: false };
      if (instance.last) return { applied: false, over: true };
      Object.assign(instance, t.next);
      return { applied: true, ...this.#enqueue(instance, t.at) };
    }
    if (t.end.outcome === 'LOST') instance.lostTimes++;
    const owedTo = this.#end(instance, t.next.state, t.at);
    return { applied: true, ...this.#advance(instance.key, t.at), ...owedTo };
  }

  #end(instance: Instance, state: string, at: number): { owedTo?: string } {
    Object.assign(instance, { state, endedAt: at });
    if (instance.owes === undefined) return {};
    this.owed.push(`${instance.id} ${state}`);
    return { owedTo: instance.owes };
  }

  #advance(taskId: string, now: number): object {
    const next = this.#tasks.get(taskId)?.next;
    this.#tasks.delete(taskId);
    if (next === undefined) return {};
    this.#tasks.set(taskId, { current: next, next: undefined });
    return this.#enqueue(next, now);
  }

  #cancel(t: Cancel): object {
    const outcome: Cancelled = { cancelled: [], cancelling: [], ended: [] };
    if (t.id !== undefined) {
      const named = this.#of(t.id);
      const task = this.#tasks.get(named.key);
      if (named === task?.next) this.#cancelNext(named, t, outcome);
      else if (named === task?.current) this.#cancelCurrent(named, t, outcome);
      else outcome.ended.push(named.id);
      return outcome;
    }
    const taskId = t.taskId ?? '';
    if (this.ends.areTooMany(taskId, t)) return { ...outcome, many: true };
    const task = this.#tasks.get(taskId);
    if (task?.next !== undefined) this.#cancelNext(task.next, t, outcome);
    if (task !== undefined) this.#cancelCurrent(task.current, t, outcome);
    const schedule = this.schedules.end(taskId);
    const { cancelled, running, left } = this.ends.stop(taskId, 'cancel', t.at, t);
    outcome.cancelled.push(...cancelled);
    outcome.cancelling.push(...running);
    return { ...outcome, left, schedule: schedule?.id };
  }

  #cancelNext(next: Instance, t: Cancel, outcome: Cancelled): void {
    const task = this.#tasks.get(next.key);
    if (task !== undefined) task.next = undefined;
    outcome.cancelled.push({ id: next.id, seq: next.id, placement: 'blocked', ...this.#end(next, t.as?.state ?? 'CANCELLED', t.at) });
  }

  #cancelCurrent(current: Instance, t: Cancel, outcome: Cancelled): void {
    if (current.state !== 'EXECUTING' && current.state !== 'CANCELLING') {
      const { freed, ...cancelled } = this.#endQueued(current, { state: t.as?.state ?? 'CANCELLED', at: t.at });
      outcome.cancelled.push(cancelled);
      Object.assign(outcome, freed);
    } else if (t.as === undefined) {
      current.state = 'CANCELLING';
      outcome.cancelling.push({ id: current.id, seq: current.id, attempt: current.attempts });
    }
  }

  #endQueued(current: Instance, end: { state: string; at: number }): { freed: object } {
    const placement = current.state.toLowerCase();
    const owedTo = this.#end(current, end.state, end.at);
    return { ...{ id: current.id, seq: current.id, placement, ...owedTo }, freed: this.#advance(current.key, end.at) };
  }

  #release(run: Instance, now: number): object {
    if (run.state !== 'WAITING' || run.dueAt !== heldUntil) return {};
    run.dueAt = run.scheduledAt;
    return this.#enqueue(run, Math.max(now, run.dueAt));
  }

  /** The live ones, by arrival. */
  #runsOf(taskId: string): Instance[] {
    return [...this.#instances.values()].filter(({ key, endedAt }) => isRunKey(key) && taskIdOf(key) === taskId && endedAt === 0);
  }
}

interface Cancelled {
  cancelled: object[];
  cancelling: object[];
  ended: string[];
}
