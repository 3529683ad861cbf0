import { newId } from '../../shared/ids.js';
import type {
  Admit,
  AdmitOutcome,
  Alter,
  AlterOutcome,
  Cancel,
  CancelOutcome,
  EndRuns,
  EndRunsOutcome,
  Enroll,
  EnrollOutcome,
  Finish,
  FinishOutcome,
  Fire,
  FireOutcome,
  FireRun,
  GroupLimits,
  HeldEpoch,
  Limit,
  Outcome,
  OwnerIdentity,
  PassedTime,
  Promote,
  PromoteOutcome,
  QueueStore,
  Release,
  ReleaseOutcome,
  RunPolicy,
  Start,
  StartOutcome,
  Transition,
  WorkerIdentity,
} from '../../services/job-tracker/queue/queue-store.js';
import { runKey } from '../../services/job-tracker/queue/task-key.js';
import { encodeJob } from '../../shared/grpc/job-codec.js';

/** A database of its own, on which any number of stores can be connected. */
export interface StoreBench {
  /** A store that is not open yet. Default: cluster "test", 4 partitions. */
  connect(options?: { cluster?: string; partitions?: number }): QueueStore;
  /** Closes what was connected and removes the database. */
  destroy(): Promise<void>;
}

/** Makes an empty database. */
export type MakeBench = () => Promise<StoreBench>;

/** The beginning of time in these tests. */
export const t0 = 1_700_000_000_000;

/** Of a bench that is connected without options. */
export const allPartitions: readonly number[] = [0, 1, 2, 3];

export const owner: OwnerIdentity = { nodeId: 'tracker-1', incarnation: 'incarnation-1', pid: process.pid };
export const worker: WorkerIdentity = { nodeId: 'worker-1', incarnation: 'worker-incarnation-1' };
export const otherWorker: WorkerIdentity = { nodeId: 'worker-2', incarnation: 'worker-incarnation-2' };
export const defaultPolicy: RunPolicy = { maxRetryTimes: 0, timeoutMs: 0, maxLost: 3, failOnLoss: false };

/** A job to take in: due at once, of task "task" in group "group" of partition 0, unless it says otherwise. */
export function admit(values: Partial<Admit> = {}): Admit {
  const id = values.id ?? newId();
  const taskId = values.taskId ?? 'task';
  const nodeGroup = values.nodeGroup ?? 'group';
  return {
    kind: 'admit',
    id,
    clientId: true,
    partition: 0,
    nodeGroup,
    taskId,
    type: 'default',
    priority: 100,
    dueAt: t0,
    createdAt: t0,
    needFeedback: false,
    submitNodeGroup: '',
    replaceOnExist: false,
    policy: defaultPolicy,
    job: encodeJob({ task_id: taskId, node_group: nodeGroup, instance_id: id, payload: Buffer.from([0, 1, 0xff]) }),
    ...values,
  };
}

export function start(seq: number, values: Partial<Start> = {}): Start {
  return { kind: 'start', partition: 0, seq, attempt: 1, fence: 1, worker, at: t0 + 1, wantJob: false, ...values };
}

/** Ends attempt 1 with SUCCESS, and the instance with it, unless it says otherwise. */
export function finish(seq: number, values: Partial<Finish> = {}): Finish {
  return {
    kind: 'finish',
    partition: 0,
    seq,
    attempt: 1,
    end: { outcome: 'SUCCESS', message: '', truncated: false, startedAt: t0 + 2 },
    next: { state: 'SUCCEEDED' },
    at: t0 + 3,
    ...values,
  };
}

/** Ends an attempt with LATER: the instance waits again. */
export function retry(seq: number, dueAt: number, values: Partial<Finish> = {}): Finish {
  return finish(seq, {
    end: { outcome: 'LATER', message: 'not now', truncated: false, startedAt: t0 + 2 },
    next: { dueAt, retryTimes: 1, lostTimes: 0 },
    ...values,
  });
}

export function cancel(target: { id: string } | { taskId: string }, values: Partial<Cancel> = {}): Cancel {
  return { kind: 'cancel', partition: 0, nodeGroup: 'group', at: t0 + 4, ...target, ...values };
}

export function promote(now: number, values: Partial<Promote> = {}): Promote {
  return { kind: 'promote', partition: 0, now, limit: 100, ...values };
}

/** Sets the limits of "group". */
export function limit(limits: GroupLimits, values: Partial<Limit> = {}): Limit {
  return { kind: 'limit', partition: 0, nodeGroup: 'group', limits, ...values };
}

/** A schedule to take in: of task "task", first at t0 + 1,000, unless it says otherwise. */
export function enroll(values: Partial<Enroll> = {}): Enroll {
  const { kind: _kind, ...given } = values;
  const { id, clientId, partition, nodeGroup, taskId, type, priority, createdAt, needFeedback, submitNodeGroup, replaceOnExist, policy, job } = admit(given);
  return {
    kind: 'enroll', id, clientId, partition, nodeGroup, taskId, type, priority, createdAt, needFeedback, submitNodeGroup, replaceOnExist, policy, job,
    plan: 'every second',
    nextAt: t0 + 1_000,
    ...values,
  };
}

/** A fire of a schedule of "group" that answers t0 + 1,000 and moves on to t0 + 2,000, unless it says otherwise. */
export function fire(schedule: { sched: number; version: number }, values: Partial<Fire> = {}): Fire {
  const { sched, version } = schedule;
  return {
    kind: 'fire', partition: 0, nodeGroup: 'group', sched, version, from: t0 + 1_000, nextAt: t0 + 2_000, over: false, at: t0 + 1_001, runs: [], passed: [],
    ...values,
  };
}

/** A guarded run of "task" for a time. */
export function fireRun(scheduledAt: number, values: Partial<FireRun> = {}): FireRun {
  return { id: newId(), taskKey: runKey('task', true, scheduledAt), scheduledAt, held: false, counts: true, ...values };
}

/** A time of "task" that does not run. */
export function passed(scheduledAt: number, values: Partial<PassedTime> = {}): PassedTime {
  return { id: newId(), taskKey: runKey('task', true, scheduledAt), scheduledAt, state: 'MISSED', message: 'nobody was there', ...values };
}

export function alter(change: Alter['change'], values: Partial<Alter> = {}): Alter {
  return { kind: 'alter', change, partition: 0, nodeGroup: 'group', taskId: 'task', at: t0 + 4, ...values };
}

export function endRuns(by: EndRuns['by'], values: Partial<EndRuns> = {}): EndRuns {
  return { kind: 'endRuns', by, partition: 0, nodeGroup: 'group', taskId: 'task', most: 2, at: t0 + 5, ...values };
}

export function release(seq: number, values: Partial<Release> = {}): Release {
  return { kind: 'release', partition: 0, nodeGroup: 'group', seq, at: t0 + 5, ...values };
}

/** An open store whose partitions are taken. */
export class OpenStore {
  readonly store: QueueStore;
  readonly held: HeldEpoch[];

  private constructor(store: QueueStore, held: HeldEpoch[]) {
    this.store = store;
    this.held = held;
  }

  static async of(store: QueueStore, who: OwnerIdentity = owner): Promise<OpenStore> {
    const { partitions } = await store.open();
    return new OpenStore(store, await store.take(Array.from({ length: partitions }, (_, partition) => partition), who));
  }

  /** Commits under the epochs of what is touched. */
  commit(transitions: readonly Transition[]): Promise<Outcome[]> {
    const touched = new Set(transitions.map(({ partition }) => partition));
    return this.store.commit({ epochs: this.held.filter(({ partition }) => touched.has(partition)), transitions: [...transitions] });
  }

  /** Commits one transition. */
  async one(transition: Admit): Promise<AdmitOutcome>;
  async one(transition: Start): Promise<StartOutcome>;
  async one(transition: Finish): Promise<FinishOutcome>;
  async one(transition: Cancel): Promise<CancelOutcome>;
  async one(transition: Promote): Promise<PromoteOutcome>;
  async one(transition: Enroll): Promise<EnrollOutcome>;
  async one(transition: Fire): Promise<FireOutcome>;
  async one(transition: Alter): Promise<AlterOutcome>;
  async one(transition: EndRuns): Promise<EndRunsOutcome>;
  async one(transition: Release): Promise<ReleaseOutcome>;
  async one(transition: Transition): Promise<Outcome>;
  async one(transition: Transition): Promise<Outcome> {
    const [outcome] = await this.commit([transition]);
    if (outcome === undefined) throw new Error(`no outcome of a ${transition.kind}`);
    return outcome;
  }

  /** Takes a job in and gives its seq. */
  async admitted(values: Partial<Admit> = {}): Promise<number> {
    const outcome = await this.one(admit(values));
    if (outcome.result !== 'accepted' && outcome.result !== 'replaced') throw new Error(`not taken in: ${JSON.stringify(outcome)}`);
    return outcome.seq;
  }

  /** Takes a job in and starts its first attempt. */
  async running(values: Partial<Admit> = {}): Promise<number> {
    const outcome = await this.one(admit({ ...values, start: { worker, fence: 1 } }));
    if (outcome.result !== 'accepted' || outcome.placement !== 'started') throw new Error(`not started: ${JSON.stringify(outcome)}`);
    return outcome.seq;
  }

  /** Takes a schedule in. */
  async enrolled(values: Partial<Enroll> = {}): Promise<{ sched: number; version: number }> {
    const outcome = await this.one(enroll(values));
    if (outcome.result !== 'accepted' && outcome.result !== 'replaced') throw new Error(`not taken in: ${JSON.stringify(outcome)}`);
    return outcome;
  }

  /** Makes runs of a schedule by hand, so that it stays as it is, and gives their seqs. */
  async made(schedule: { sched: number; version: number }, runs: FireRun[], values: Partial<Fire> = {}): Promise<number[]> {
    const outcome = await this.one(fire(schedule, { from: undefined, runs: runs.map((run) => ({ ...run, counts: false })), ...values }));
    if (!outcome.applied) throw new Error(`not made: ${JSON.stringify(outcome)}`);
    return outcome.runs.map(({ seq }) => seq);
  }

  async stateOf(id: string): Promise<string | undefined> {
    return (await this.store.findInstance({ id }))?.state;
  }
}
