import type { Limit, LimitOutcome } from './group-limits.js';
import type { AttemptOutcome, FinalState } from './instance-state.js';
import type { GroupCounts, LoadedGroup } from './loaded-group.js';
import type { FeedbackRow, FeedbackSettlement, LogRow } from './lower-lane.js';
import type { ExecutingRow, NewlyReady, ReadyKey, ReadyRow, RunPolicy, WorkerIdentity } from './queue-rows.js';
import type { Alter, AlterOutcome, Bounded, EndRuns, EndRunsOutcome, Enroll, EnrollOutcome, Fire, FireOutcome, LoadedSchedules, Release, ReleaseOutcome, ScheduleReads } from './schedule-store.js';
import type { StatusQueries } from './status-queries.js';
import type { StoreHealth } from './store-health.js';

export { CommitFailed } from './commit-failed.js';
export type { GroupLimits, Limit, LimitOutcome } from './group-limits.js';
export type { GroupCounts, LoadedGroup } from './loaded-group.js';
export type { FeedbackRow, FeedbackSettlement, LogRow } from './lower-lane.js';
export type { StoreHealth, StoreWarning } from './store-health.js';
export type { ExecutingRow, NewlyReady, ReadyKey, ReadyRow, RetryLaw, RunPolicy, WorkerIdentity } from './queue-rows.js';
export { heldUntil } from './schedule-store.js';
export type {
  Alter,
  AlterOutcome,
  Bounded,
  EndRuns,
  EndRunsOutcome,
  Enroll,
  EnrollOutcome,
  Fire,
  FireOutcome,
  FireRun,
  GuardedRun,
  LeftRuns,
  LoadedSchedules,
  PassedTime,
  PastSchedule,
  Release,
  ReleaseOutcome,
  ScheduleKey,
  ScheduleQueries,
  ScheduleReads,
  ScheduleRow,
} from './schedule-store.js';

/**
 * The port to the durable queues. One conformance suite runs on every adapter.
 *
 * Who owns what: rows of a partition are changed by `commit` alone, under the epoch that `take` gave. Every commit
 * checks the epochs of the partitions it touches inside its own transaction; a raised epoch fences it (STALE_EPOCH).
 * `take` orders itself behind every earlier commit or makes it fail: after `take` returns, nothing of an older epoch
 * commits.
 *
 * Order: calls of `commit`, `readReady`, `readExecuting`, `recount` and `nextDue` take effect, and their promises settle, in
 * the order of the calls.
 *
 * Failure: a CommitFailed with rolledBack tells that nothing of the batch was stored. Without it the outcome is
 * unknown: the owner takes its partitions again and loads them.
 */
export interface QueueStore extends StatusQueries, ScheduleReads {
  /** Opens or makes the store. Rejects with STORE_LOCKED, STORE_FOREIGN, STORE_NEWER, STORE_DAMAGED, STORE_UNSAFE, CONFIG_INVALID or STORE_FAILED. */
  open(): Promise<StoreIdentity>;
  /** Raises the epoch of each partition for this owner. Rejects with STORE_LOCKED (message names the holder's pid) after its own deadline. */
  take(partitions: readonly number[], owner: OwnerIdentity): Promise<HeldEpoch[]>;
  /** Lets go of partitions in a planned hand-over; a higher epoch is left alone. */
  release(held: readonly HeldEpoch[]): Promise<void>;
  /** Who holds each partition now. */
  owners(): Promise<StoredOwner[]>;
  /** Those of the held epochs that are not current any more. */
  fenced(held: readonly HeldEpoch[]): Promise<number[]>;
  /** Everything that the owner of a partition keeps in memory. */
  load(partition: number): Promise<LoadedPartition>;
  /** Attempts that workers have, by arrival, after a sequence. */
  readExecuting(partition: number, afterSeq: number, limit: number): Promise<ExecutingRow[]>;
  /** What a group has in the store, counted on at most about `most` rows of each kind. */
  recount(nodeGroup: string, most: number): Promise<GroupCounts>;
  /** When the next waiting row of the partition is due; undefined: none waits for a time. */
  nextDue(partition: number): Promise<number | undefined>;
  /** The next ready rows of a group in their order (priority, due time, arrival), after a key. */
  readReady(nodeGroup: string, after: ReadyKey | undefined, limit: number): Promise<ReadyRow[]>;
  /** Applies the transitions in order, in one transaction. One outcome each. At most 1,000 rows and 4 MiB. */
  commit(batch: CommitBatch): Promise<Outcome[]>;
  /** The second, lower lane: it never delays a commit by more than one of its own small batches. */
  appendLogs(lines: readonly LogRow[]): Promise<void>;
  /** Owed results of a JobClient group, of jobs of these partitions, that are due, oldest first, after a sequence. */
  readFeedback(submitNodeGroup: string, partitions: readonly number[], afterSeq: number, now: number, limit: number): Promise<FeedbackRow[]>;
  /** Lower lane. Settles delivered results and notes failed ones. */
  settleFeedback(settled: FeedbackSettlement): Promise<void>;
  /** Puts dead results back into delivery: these ids, or all of a group. Tells how many. */
  resendFeedback(ids: readonly string[], submitNodeGroup: string, now: number): Promise<number>;
  /**
   * Lower lane. Deletes instances that were made, by the time in their ids, and ended before `before`, with all that
   * belongs to them, the oldest first: up to `limit`, or more where whole days go at once. Tells how many.
   */
  purge(before: number, limit: number): Promise<number>;
  /** What the store says of itself. */
  health(): Promise<StoreHealth>;
  /** Waits for what runs, then closes. */
  close(): Promise<void>;
}

/** Who the store is. */
export interface StoreIdentity {
  /** Random, made with the store. */
  storeId: string;
  cluster: string;
  /** Number of partitions, fixed when the store is made. */
  partitions: number;
}

/** Who takes partitions. */
export interface OwnerIdentity {
  nodeId: string;
  incarnation: string;
  pid: number;
}

/** One ownership. */
export interface HeldEpoch {
  partition: number;
  epoch: number;
}

/** One ownership as it is stored. */
export interface StoredOwner extends HeldEpoch {
  /** Empty, as the incarnation: it was released, or never taken. */
  nodeId: string;
  incarnation: string;
}

/** A partition as its new owner finds it. */
export interface LoadedPartition {
  groups: LoadedGroup[];
  executing: ExecutingRow[];
  /** When the next waiting row is due; undefined: none waits for a time. */
  nextDueAt: number | undefined;
  schedules: LoadedSchedules;
}

/** Transitions of any number of owned partitions. */
export interface CommitBatch {
  /** Of all the partitions that the transitions touch. */
  epochs: HeldEpoch[];
  transitions: Transition[];
}

/** One change. */
export type Transition = Admit | Start | Finish | Reassign | Cancel | Promote | Late | Limit | Enroll | Fire | Alter | EndRuns | Release;

/** Step 1: takes a job in. */
export interface Admit {
  kind: 'admit';
  id: string;
  /** Whether the client made the id, so that it can send it again. */
  clientId: boolean;
  partition: number;
  nodeGroup: string;
  taskId: string;
  type: string;
  priority: number;
  dueAt: number;
  createdAt: number;
  needFeedback: boolean;
  submitNodeGroup: string;
  replaceOnExist: boolean;
  /** It was kept in a FailStore: it replaces a waiting one only when its id is the younger one. */
  fromFailStore?: boolean;
  policy: RunPolicy;
  job: Buffer;
  /** Hands it out in the same commit when it is due and not blocked: a slot is reserved. */
  start?: { worker: WorkerIdentity; fence: number } | undefined;
}

/** Step 3: records attempt `attempt` before its task is sent. Takes effect only on a ready instance with attempt - 1 attempts. */
export interface Start {
  kind: 'start';
  partition: number;
  seq: number;
  attempt: number;
  fence: number;
  worker: WorkerIdentity;
  at: number;
  /** The outcome shall bring the job's bytes. */
  wantJob: boolean;
}

/** Step 5: ends an attempt. Takes effect only while that attempt is the current one. */
export interface Finish {
  kind: 'finish';
  partition: number;
  seq: number;
  attempt: number;
  end: AttemptEnd;
  /**
   * Ends the instance (an outcome LOST counts as one more loss), or makes it wait again (due now or earlier: ready at
   * once); what is being cancelled does not wait again: then nothing is applied.
   */
  next: { state: FinalState } | { dueAt: number; retryTimes: number; lostTimes: number };
  at: number;
}

/** The record of a finished attempt. */
export interface AttemptEnd {
  outcome: AttemptOutcome;
  message: string;
  truncated: boolean;
  /** By the worker's clock; 0: unknown. */
  startedAt: number;
}

/** Gives the current attempt, which has provably not started, to another worker under the same number. */
export interface Reassign {
  kind: 'reassign';
  partition: number;
  seq: number;
  attempt: number;
  worker: WorkerIdentity;
  at: number;
}

/**
 * Cancels by instance, or by task: whatever waits ends CANCELLED, whatever runs becomes CANCELLING. By task also the live
 * schedule of the task, which becomes past, and all live runs of the task in the order of arrival, after a one-shot
 * instance. The id of a schedule names no instance. The bound is for those runs.
 */
export interface Cancel extends Bounded {
  kind: 'cancel';
  partition: number;
  nodeGroup: string;
  id?: string | undefined;
  taskId?: string | undefined;
  at: number;
  /** Only by id: what waits or is ready ends so, what runs is left alone. */
  as?: { state: 'FAILED' | 'DISCARDED' | 'CANCELLED'; message: string } | undefined;
}

/** Makes waiting rows ready whose time has come. */
export interface Promote {
  kind: 'promote';
  partition: number;
  now: number;
  limit: number;
}

/**
 * Records a result that came after its attempt was over, beside the attempt's record. Changes nothing else; also not
 * when the attempt ended with this very outcome (the same result sent twice).
 */
export interface Late {
  kind: 'late';
  partition: number;
  id: string;
  attempt: number;
  outcome: AttemptOutcome;
  message: string;
}

/** What became of a transition, by its kind. */
export type Outcome = AdmitOutcome | StartOutcome | FinishOutcome | ReassignOutcome | CancelOutcome | PromoteOutcome | LateOutcome | LimitOutcome | EnrollOutcome | FireOutcome | AlterOutcome | EndRunsOutcome | ReleaseOutcome | RefusedOutcome;

/** Of anything but an admit or an enroll: the store does not take this change (damage), but has taken the others. Nothing of it is stored. */
export type RefusedOutcome = { kind: 'refused'; message: string };

/** Where a job that was taken in stands. */
export type Placement = 'started' | 'ready' | 'waiting' | 'blocked';

export type AdmitOutcome =
  | { kind: 'admit'; result: 'accepted'; seq: number; placement: Placement }
  | { kind: 'admit'; result: 'replaced'; seq: number; placement: Placement; existingId: string; existingSeq: number; existingPlacement: Placement }
  | { kind: 'admit'; result: 'duplicate'; existingId: string }
  /** The same id was sent before with the same content: its first answer. existingId is empty when that was accepted. */
  | { kind: 'admit'; result: 'again'; first: 'accepted' | 'replaced' | 'duplicate'; existingId: string }
  /** The same id was sent before with other content. */
  | { kind: 'admit'; result: 'conflict' }
  /** The store does not take this row, but would take the others. */
  | { kind: 'admit'; result: 'refused'; message: string };

export interface StartOutcome {
  kind: 'start';
  /** False: it is not ready any more (cancelled, replaced). */
  started: boolean;
  job?: Buffer | undefined;
}

export interface FinishOutcome {
  kind: 'finish';
  /** False: the attempt is not the current one, or was to run again and is being cancelled. */
  applied: boolean;
  /** Not applied because it was to run again, but its schedule is gone or suspended: it does not run again. */
  over?: true | undefined;
  /** What the end or the retry made ready: the instance itself, or the next one of the same task. */
  ready?: NewlyReady | undefined;
  /** What the end made wait for its time: its due time. */
  waitingUntil?: number | undefined;
  /** The JobClient group to which the result is owed now. */
  owedTo?: string | undefined;
}

export interface ReassignOutcome {
  kind: 'reassign';
  applied: boolean;
  job?: Buffer | undefined;
}

export interface CancelOutcome {
  kind: 'cancel';
  cancelled: { id: string; seq: number; placement: Exclude<Placement, 'started'>; owedTo?: string | undefined }[];
  /** These run; the worker has to be told. */
  cancelling: { id: string; seq: number; attempt: number }[];
  /** These had ended. Only for a cancel by id: ended instances are not kept by task. */
  ended: string[];
  /** The id of the live schedule that ended. */
  schedule?: string | undefined;
  /** Nothing is changed: more runs live than its bound allows. */
  many?: true | undefined;
  /** Runs are left to `endRuns`. */
  left?: true | undefined;
  /** What the cancel made ready: the next one of the same task. */
  ready?: NewlyReady | undefined;
  waitingUntil?: number | undefined;
}

export interface PromoteOutcome {
  kind: 'promote';
  ready: NewlyReady[];
  nextDueAt: number | undefined;
}

export interface LateOutcome {
  kind: 'late';
  /** Whether the attempt is known at all. */
  known: boolean;
}
