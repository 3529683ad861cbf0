import type { NewlyReady, RunPolicy, WorkerIdentity } from './queue-rows.js';
import type { Admit, Placement } from './queue-store.js';
import type { TaskKey } from './task-key.js';

/*
 * Schedules in the store. One row for each task_id of a group that has a live schedule; its next fire time is a column.
 * A fire is one transition: it moves the next fire time and makes the instances, so that a time becomes a run once or
 * not at all. Runs are instances like any other; their task key (`task-key.ts`) tells whose they are.
 */

/** A run that waits for the end of another one has this due time: it is released, never promoted. */
export const heldUntil = 8_640_000_000_000_000;

/** A live schedule. */
export interface ScheduleRow {
  /** Number of the schedule, given by the store; stays when it is replaced. */
  sched: number;
  /** Grows with each enroll, suspend, resume and `next` of it; a fire leaves it. */
  version: number;
  /** Of the submission that made it what it is. */
  id: string;
  nodeGroup: string;
  taskId: string;
  type: string;
  priority: number;
  needFeedback: boolean;
  submitNodeGroup: string;
  policy: RunPolicy;
  /** When and how it fires: opaque to the store. */
  plan: string;
  state: 'ACTIVE' | 'SUSPENDED';
  /** The next scheduled time; undefined: none. */
  nextAt: number | undefined;
  /** Runs that counted so far, since it was enrolled or replaced. */
  fires: number;
  /** The last scheduled time that became a run. */
  lastAt: number | undefined;
  createdAt: number;
  /** Of the last enroll, suspend, resume or `next`; a fire leaves it. */
  updatedAt: number;
  /** The job's bytes; in reads of the owner only when they are small (4 KiB), in lists left out. */
  job: Buffer | undefined;
}

/** A live run of a schedule that limits how many live at once (its key is guarded), or limits them by now. */
export interface GuardedRun {
  seq: number;
  id: string;
  nodeGroup: string;
  taskKey: TaskKey;
  /** Waits behind a run (`heldUntil`), waits for its retry until dueAt, or is ready or with a worker. */
  stands: 'held' | 'waiting' | 'active';
  dueAt: number;
}

/**
 * Takes a schedule in. Its id is deduplicated like that of an admit, over instances, live schedules and past ones. A
 * task_id that a live one-shot instance has is a duplicate; one that a live schedule has is a duplicate, or, with
 * replaceOnExist (and not from a FailStore with an id older than that of the schedule), that schedule is replaced: its
 * row keeps `sched`, `lastAt`, and a next fire time that has come by createdAt (it is owed), and gets all else anew (version + 1, ACTIVE, fires 0); runs that it made stay as they are. What is
 * replaced or ignored is kept by its id (past), so that the id gets its first answer again; what was ignored only when
 * the client made the id. An admit with such an id is answered in the same way.
 * An admit whose task_id a live schedule has is a duplicate of that schedule, with replaceOnExist, too.
 */
export interface Enroll extends Omit<Admit, 'kind' | 'dueAt' | 'start'> {
  kind: 'enroll';
  plan: string;
  nextAt: number | undefined;
}

export type EnrollOutcome =
  | { kind: 'enroll'; result: 'accepted'; sched: number; version: number }
  | { kind: 'enroll'; result: 'replaced'; sched: number; version: number; existingId: string }
  | { kind: 'enroll'; result: 'duplicate'; existingId: string }
  /** The same id was sent before with the same content: its first answer. existingId is empty when that was accepted. */
  | { kind: 'enroll'; result: 'again'; first: 'accepted' | 'replaced' | 'duplicate'; existingId: string }
  | { kind: 'enroll'; result: 'conflict' }
  | { kind: 'enroll'; result: 'refused'; message: string };

/**
 * Makes runs of a schedule, and rows of times that do not run, and moves it on. Takes effect only on a live schedule of
 * this `sched` and `version`, and with `from` only while it is ACTIVE and its next fire time is `from`. At most 1,001
 * runs and passed times in all.
 */
export interface Fire {
  kind: 'fire';
  partition: number;
  nodeGroup: string;
  sched: number;
  version: number;
  /** The next fire time that this fire answers. Undefined: a run by hand, which moves nothing of the schedule. */
  from: number | undefined;
  nextAt: number | undefined;
  /** There is no further fire: the schedule becomes past. Its live runs go on, with their retries. */
  over: boolean;
  at: number;
  runs: FireRun[];
  passed: PassedTime[];
}

/** A run to be made: an instance with the schedule's job, type, priority, feedback and policy, created at `at`. */
export interface FireRun {
  id: string;
  taskKey: TaskKey;
  /** The scheduled time: the due time of the instance. */
  scheduledAt: number;
  /** It waits behind another run until it is released (`heldUntil`); otherwise it is ready at once. */
  held: boolean;
  /** Whether it adds to `fires` and is noted as the last one; of a run by hand false. */
  counts: boolean;
  /** Hands it out in the same commit, unless it is held. */
  start?: { worker: WorkerIdentity; fence: number } | undefined;
  /** In place of the schedule's job. */
  job?: Buffer | undefined;
}

/** A scheduled time that does not run: an instance that is over from the beginning. Its job is empty, its result is owed to nobody. */
export interface PassedTime {
  id: string;
  taskKey: TaskKey;
  scheduledAt: number;
  state: 'MISSED' | 'DISCARDED';
  message: string;
}

export interface FireOutcome {
  kind: 'fire';
  /** False: the schedule is another by now, does not fire, or has moved on. */
  applied: boolean;
  /** By hand, of a schedule that is there: the id of a run was taken before. Nothing is changed then, applied is false. */
  again: boolean;
  /** Of each run, in their order. */
  runs: { seq: number; placement: Exclude<Placement, 'blocked'> }[];
}

/**
 * How much of the live runs of a task one transition takes on: there may be hundreds of thousands, which would hold up all
 * other commits. When there are more than `most`, nothing is changed unless the owner has halted the task, so that none
 * of them begins meanwhile. Then all that have a worker are dealt with, and of the others a part; those that are left
 * are noted, and `endRuns` ends them: the note is told to whoever loads the partition. Undefined: all at once, however many.
 */
export interface Bounded {
  bound?: { most: number; halted: boolean } | undefined;
}

/** Ends of the runs that an alter or a cancel has left, those that wait or are ready, looking at `most` of them. */
export interface EndRuns extends LeftRuns {
  kind: 'endRuns';
  partition: number;
  most: number;
  at: number;
}

export interface EndRunsOutcome {
  kind: 'endRuns';
  cancelled: AlterOutcome['cancelled'];
  /** There may be more: another `endRuns` goes on. */
  left: boolean;
}

/** Runs of a task that are to end, whatever becomes of its schedule since: those that were there at the change. */
export interface LeftRuns {
  nodeGroup: string;
  taskId: string;
  by: 'suspend' | 'delete' | 'cancel';
}

/**
 * Changes a live schedule of this task_id.
 *
 *   suspend  ACTIVE → SUSPENDED, next fire time gone
 *   resume   SUSPENDED → ACTIVE with nextAt; only under `version`
 *   next     sets the next fire time of an ACTIVE one that has none (a fixed delay after its run); only under `version`
 *   delete   becomes past
 *
 * Suspend and delete are about the live runs of the task (suspend: not those by hand), also of what a schedule of it was
 * before. Those that wait or are ready end CANCELLED, with a message that says why. Those with a worker go on, but with their last attempt: a `finish`
 * that would let one wait again is not applied and says `over` (unless it is being cancelled: that says no `over`).
 * Resume and an enroll that replaces take this back for all of them; a delete or a new schedule after it does not. One
 * that comes back for its retry while runs are left to end ends with them.
 *
 * With a version that is another the result is stale, before anything else is looked at; resume and `next` need one.
 */
export interface Alter extends Bounded {
  kind: 'alter';
  change: 'suspend' | 'resume' | 'next' | 'delete';
  partition: number;
  nodeGroup: string;
  taskId: string;
  nextAt?: number | undefined;
  version?: number | undefined;
  at: number;
}

export interface AlterOutcome {
  kind: 'alter';
  /** unknown: no live schedule has this task_id. unchanged: it stands so already. stale: its version is another. many: more runs live than its bound allows. */
  result: 'done' | 'unchanged' | 'unknown' | 'stale' | 'many';
  sched: number;
  /** As it is now; 0, as sched, when it is unknown. */
  version: number;
  /** Both in the order of arrival. */
  cancelled: { id: string; seq: number; placement: 'ready' | 'waiting'; owedTo?: string | undefined }[];
  running: { id: string; seq: number; attempt: number }[];
  /** Runs are left to `endRuns`. */
  left?: true | undefined;
}

/** Makes a held run ready, due at its scheduled time. Takes effect only on one that is held. */
export interface Release {
  kind: 'release';
  partition: number;
  nodeGroup: string;
  seq: number;
  at: number;
}

export interface ReleaseOutcome {
  kind: 'release';
  /** Undefined: it is not held. */
  ready: NewlyReady | undefined;
}

/** The order of schedules by their next fire. */
export interface ScheduleKey {
  nextAt: number;
  sched: number;
}

/** What the owner reads of schedules. Calls take their place in the order of `commit` and the others. */
export interface ScheduleReads {
  /** ACTIVE schedules of the partition whose next fire is at most `until`, by (nextAt, sched), after a key. */
  readSchedules(partition: number, after: ScheduleKey | undefined, until: number, limit: number): Promise<ScheduleRow[]>;
  /** The live schedule of a task. */
  readSchedule(nodeGroup: string, taskId: string): Promise<ScheduleRow | undefined>;
  /** Live runs of a task whose key is not guarded, by key. */
  readFreeRuns(nodeGroup: string, taskId: string, limit: number): Promise<GuardedRun[]>;
}

/** What the new owner of a partition is told of its schedules. */
export interface LoadedSchedules {
  /** Live runs whose key is guarded. */
  guarded: GuardedRun[];
  /** ACTIVE schedules without a next fire time. */
  resting: ScheduleRow[];
  /** What is left to `endRuns`. */
  left: LeftRuns[];
}

/** What is kept of a schedule that fires no more. */
export interface PastSchedule {
  id: string;
  nodeGroup: string;
  taskId: string;
  endedAt: number;
  job: Buffer;
  /** The newest scheduled time of its task that became a run. */
  lastAt: number | undefined;
  /** When the newest scheduled time of its task became a run, or a row of a time that passed. */
  answeredAt: number | undefined;
}

/** Reads for people, beside the commits. */
export interface ScheduleQueries {
  /** By (group, task_id), after a pair of them. */
  listSchedules(filter: { nodeGroup: string; state: ScheduleRow['state'] | undefined; after: { nodeGroup: string; taskId: string } | undefined; limit: number }): Promise<ScheduleRow[]>;
  /** With its job. */
  findSchedule(nodeGroup: string, taskId: string): Promise<ScheduleRow | undefined>;
  /** The one of a task that became past last, until it is purged. Looks at a bounded number of rows, the newest ones. */
  findPastSchedule(nodeGroup: string, taskId: string): Promise<PastSchedule | undefined>;
}
