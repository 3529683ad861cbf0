import type { Admit, Cancel, Finish, GroupLimits, Transition } from '../../services/job-tracker/queue/queue-store.js';

interface Instance {
  id: string;
  taskId: string;
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
}

interface Sent {
  transition: Admit;
  first: 'accepted' | 'replaced' | 'duplicate';
  existingId: string;
}

type NameOf = (seq: number) => string | undefined;

/** The queues of one group, as simply as they can be written down. Outcomes carry ids where the store gives arrival numbers. */
export class QueueModel {
  /** `id state` of what is owed, in the order of the ends. */
  readonly owed: string[] = [];
  readonly #nodeGroup: string;
  readonly #instances = new Map<string, Instance>();
  readonly #sent = new Map<string, Sent>();
  #limits: GroupLimits | undefined;
  readonly #tasks = new Map<string, { current: Instance; next: Instance | undefined }>();

  constructor(nodeGroup: string) {
    this.#nodeGroup = nodeGroup;
  }

  apply(t: Transition, nameOf: NameOf): unknown {
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
      case 'late':
        return { kind: 'late', known: t.attempt > 0 && t.attempt <= this.#of(t.id).attempts };
    }
  }

  instances(): unknown[] {
    return [...this.#instances.values()].map(({ id, taskId, state, attempts, retryTimes, lostTimes, dueAt, endedAt }) => ({
      id, taskId, state: state === 'BLOCKED' ? 'WAITING' : state, blocked: state === 'BLOCKED', attempts, retryTimes, lostTimes, endedAt,
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

  taskOf(id: string): string {
    return this.#of(id).taskId;
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
    return [...this.#instances.values()].filter(({ state }) => state === 'WAITING').toSorted((a, b) => a.dueAt - b.dueAt);
  }

  #runs(instance: Instance, attempt: number): boolean {
    return (instance.state === 'EXECUTING' || instance.state === 'CANCELLING') && instance.attempts === attempt;
  }

  #admit(t: Admit): object {
    const before = this.#sent.get(t.id);
    if (before !== undefined) {
      if (!before.transition.job.equals(t.job)) return { result: 'conflict' };
      return { result: 'again', first: before.first, existingId: before.existingId };
    }
    const instance: Instance = {
      id: t.id, taskId: t.taskId, type: t.type, priority: t.priority, state: 'BLOCKED', dueAt: t.dueAt, scheduledAt: t.dueAt, endedAt: 0, attempts: 0, retryTimes: 0, lostTimes: 0,
      owes: t.needFeedback ? t.submitNodeGroup : undefined,
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
    if (!t.replaceOnExist || (t.fromFailStore === true && t.id < existing.id)) {
      if (t.clientId) this.#sent.set(t.id, { transition: t, first: 'duplicate', existingId: existing.id });
      return { result: 'duplicate', existingId: existing.id };
    }
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
      Object.assign(instance, t.next);
      return { applied: true, ...this.#enqueue(instance, t.at) };
    }
    if (t.end.outcome === 'LOST') instance.lostTimes++;
    const owedTo = this.#end(instance, t.next.state, t.at);
    return { applied: true, ...this.#advance(instance.taskId, t.at), ...owedTo };
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
    const outcome = { cancelled: [] as object[], cancelling: [] as object[], ended: [] as string[] };
    const named = t.id === undefined ? undefined : this.#of(t.id);
    const taskId = named?.taskId ?? t.taskId ?? '';
    const task = this.#tasks.get(taskId);
    if (named !== undefined && named !== task?.current && named !== task?.next) return { ...outcome, ended: [named.id] };
    if (task === undefined) return outcome;
    if (task.next !== undefined && (named === undefined || named === task.next)) {
      outcome.cancelled.push({ id: task.next.id, seq: task.next.id, placement: 'blocked', ...this.#end(task.next, 'CANCELLED', t.at) });
      task.next = undefined;
      if (named !== undefined) return outcome;
    }
    const { current } = task;
    if (current.state === 'EXECUTING' || current.state === 'CANCELLING') {
      current.state = 'CANCELLING';
      outcome.cancelling.push({ id: current.id, seq: current.id, attempt: current.attempts });
      return outcome;
    }
    const placement = current.state.toLowerCase();
    outcome.cancelled.push({ id: current.id, seq: current.id, placement, ...this.#end(current, 'CANCELLED', t.at) });
    return { ...outcome, ...this.#advance(taskId, t.at) };
  }
}
