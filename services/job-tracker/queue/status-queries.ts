import type { AttemptOutcome, InstanceState } from './instance-state.js';
import type { FeedbackRow, LogRow } from './lower-lane.js';
import type { ScheduleQueries } from './schedule-store.js';

/** Reads for people. They run beside the commits, on a snapshot of their own, and never delay them. */
export interface StatusQueries extends ScheduleQueries {
  /** By id, or the newest of a task with its runs: of those that live, else of those that are over. */
  findInstance(target: InstanceTarget): Promise<InstanceRow | undefined>;
  /** Newest first. A page may be short although there is a next one: a filter looks at a bounded number of rows. */
  listInstances(filter: InstanceFilter): Promise<{ rows: InstanceRow[]; nextBefore: number | undefined }>;
  /** Ended attempts and the running one, oldest first. */
  listAttempts(id: string): Promise<AttemptRow[]>;
  /** Oldest first, after a line number; of all attempts when it is 0. */
  listLogs(id: string, attempt: number, afterLine: number, limit: number): Promise<{ rows: LogRow[]; nextAfter: number | undefined }>;
  /** Owed results, dead ones first, then oldest first; of all groups when the name is empty. */
  listFeedback(submitNodeGroup: string, deadOnly: boolean, limit: number): Promise<FeedbackRow[]>;
  /** How many results are owed, and how many of them are dead, per JobClient group. */
  countFeedback(): Promise<{ submitNodeGroup: string; owed: number; dead: number }[]>;
  /** How many ready instances of the group come before this key. Counts at most `most`. */
  countBefore(nodeGroup: string, key: { priority: number; dueAt: number; seq: number }, most: number): Promise<number>;
}

/** Which instance. */
export type InstanceTarget = { id: string } | { taskId: string; nodeGroup: string };

/** Which instances. Empty texts and an empty list stand for all. */
export interface InstanceFilter {
  nodeGroup: string;
  taskId: string;
  states: readonly InstanceState[];
  /** Only those that arrived before this sequence. */
  before: number | undefined;
  limit: number;
}

/** One instance as the store knows it. */
export interface InstanceRow {
  seq: number;
  id: string;
  nodeGroup: string;
  /** As a user knows it: also of a run of a schedule. */
  taskId: string;
  type: string;
  priority: number;
  state: InstanceState;
  /** It waits behind an earlier run of the same task. */
  blocked: boolean;
  createdAt: number;
  dueAt: number;
  /** Of a run of a schedule the time for which it stands; 0: of none. */
  scheduledAt: number;
  endedAt: number;
  attempts: number;
  retryTimes: number;
  lostTimes: number;
  worker: string;
  message: string;
  /** The job's bytes; lists leave them out. */
  job: Buffer | undefined;
}

/** One attempt as the store knows it. */
export interface AttemptRow {
  attempt: number;
  worker: string;
  incarnation: string;
  assignedAt: number;
  startedAt: number;
  endedAt: number;
  outcome: AttemptOutcome | undefined;
  message: string;
  truncated: boolean;
  lateOutcome: AttemptOutcome | undefined;
  lateMessage: string;
  fence: number;
}
