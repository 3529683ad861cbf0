import type { AttemptOutcome, FinalState } from '../../../services/job-tracker/queue/instance-state.js';
import type {
  FeedbackRow, GroupLimits, HeldEpoch, LeftRuns, LogRow, NewlyReady, ReadyKey, ReadyRow, RunPolicy, ScheduleRow, StoredOwner, WorkerIdentity,
} from '../../../services/job-tracker/queue/queue-store.js';
import { heldUntil } from '../../../services/job-tracker/queue/queue-store.js';
import type { AttemptRow } from '../../../services/job-tracker/queue/status-queries.js';
import type { TaskKey } from '../../../services/job-tracker/queue/task-key.js';

/** Where a row stands. BLOCKED waits behind a run of its task; IGNORED is the id of a duplicate, no instance. */
export type RowState = 'WAITING' | 'BLOCKED' | 'READY' | 'EXECUTING' | 'CANCELLING' | FinalState | 'IGNORED';

/** What an id was answered when it came first. */
export interface Answered {
  first: 'accepted' | 'replaced' | 'duplicate';
  existingId: string;
  job: Buffer;
}

/** One instance with all that is stored of it. */
export interface Row extends Answered {
  readonly seq: number;
  readonly id: string;
  readonly partition: number;
  readonly nodeGroup: string;
  readonly taskId: string;
  readonly key: TaskKey;
  readonly scheduledAt: number;
  readonly type: string;
  readonly priority: number;
  readonly createdAt: number;
  readonly policy: RunPolicy;
  readonly job: Buffer;
  /** The JobClient group that wants its result. */
  readonly owes: string | undefined;
  state: RowState;
  /** Its schedule was suspended or deleted: it gets no further attempt. */
  last: boolean;
  dueAt: number;
  endedAt: number;
  attempts: number;
  retryTimes: number;
  lostTimes: number;
  fence: number;
  worker: WorkerIdentity;
  assignedAt: number;
  /** Ended attempts, oldest first. */
  readonly records: AttemptRow[];
  message: string;
  outcome: AttemptOutcome | undefined;
}

/** A live schedule with all that is stored of it. */
export type StoredSchedule = ScheduleRow & Answered & { readonly partition: number };

/** One that fires no more. */
export type EndedSchedule = StoredSchedule & { readonly endedAt: number };

/** The living instances of one task key. */
export interface TaskRows {
  current: Row;
  next: Row | undefined;
}

/** Everything that is stored. */
export class Tables {
  readonly owners: StoredOwner[];
  readonly groups = new Map<string, { partition: number; limits: GroupLimits | undefined }>();
  readonly rows = new Map<number, Row>();
  readonly byId = new Map<string, Row>();
  /** Those that have not ended. */
  readonly live = new Map<number, Row>();
  readonly tasks = new Map<string, TaskRows>();
  /** Live schedules by group and task. */
  readonly schedules = new Map<string, StoredSchedule>();
  /** Submissions that are no live schedule any more, or never were one, by id. */
  readonly past = new Map<string, Answered | EndedSchedule>();
  /** Runs that are to end, by group, task and cause. */
  readonly left = new Map<string, LeftRuns & { partition: number; lastSeq: number; nextKey: TaskKey }>();
  readonly feedback = new Map<string, FeedbackRow>();
  readonly logs = new Map<string, LogRow[]>();
  lastSeq = 0;
  lastSched = 0;
  lastOwed = 0;

  constructor(partitions: number) {
    this.owners = Array.from({ length: partitions }, (_, partition) => ({ partition, epoch: 0, nodeId: '', incarnation: '' }));
  }

  /** The row, when it is of that partition. */
  of(partition: number, seq: number): Row | undefined {
    const row = this.rows.get(seq);
    return row?.partition === partition ? row : undefined;
  }

  /** What became of this id when it came first. */
  answered(id: string): Answered | undefined {
    return this.byId.get(id) ?? [...this.schedules.values()].find((schedule) => schedule.id === id) ?? this.past.get(id);
  }

  holds({ partition, epoch }: HeldEpoch): boolean {
    return this.owners[partition]?.epoch === epoch;
  }

  /** Living rows in one of these states. */
  in(...states: RowState[]): Row[] {
    return [...this.live.values()].filter(({ state }) => states.includes(state));
  }

  /** Rows of the partition that wait for their time, the earliest first; those that are held wait for none. */
  waiting(partition: number): Row[] {
    return this.in('WAITING')
      .filter((row) => row.partition === partition && row.dueAt < heldUntil)
      .sort((a, b) => a.dueAt - b.dueAt || a.seq - b.seq);
  }
}

/** Jobs of at most this size come with their ready rows. */
const smallJobBytes = 4_096;

export function taskKey({ nodeGroup, taskId }: { nodeGroup: string; taskId: string }): string {
  return `${nodeGroup}\n${taskId}`;
}

export function readyRow({ seq, id, type, priority, dueAt, scheduledAt, attempts, retryTimes, lostTimes, policy, job }: Row): ReadyRow {
  return { seq, id, type, priority, dueAt, scheduledAt, attempts, retryTimes, lostTimes, policy, job: small(job) };
}

/** The owner reads bytes of jobs only when they are few. */
export function small(job: Buffer): Buffer | undefined {
  return job.length <= smallJobBytes ? job : undefined;
}

export function newlyReady(row: Row): NewlyReady {
  return { ...readyRow(row), nodeGroup: row.nodeGroup };
}

export function isBefore(a: ReadyKey, b: ReadyKey): boolean {
  return (a.priority - b.priority || a.dueAt - b.dueAt || a.seq - b.seq) < 0;
}

/** The attempt that runs, or how it ended. */
export function attemptOf({ attempts, worker, assignedAt, fence }: Row): AttemptRow {
  return {
    attempt: attempts, worker: worker.nodeId, incarnation: worker.incarnation, assignedAt, startedAt: 0, endedAt: 0, outcome: undefined, message: '', truncated: false,
    lateOutcome: undefined, lateMessage: '', fence,
  };
}
