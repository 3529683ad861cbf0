/** The order of ready rows within a group: smaller first, member by member. */
export interface ReadyKey {
  priority: number;
  dueAt: number;
  /** Arrival, given by the store. */
  seq: number;
}

/** What decides how an instance goes on; fixed at admission. */
export interface RunPolicy {
  maxRetryTimes: number;
  /** 0: no limit. Milliseconds. */
  timeoutMs: number;
  maxLost: number;
  failOnLoss: boolean;
  /** Undefined: fixed, 30 s. */
  retry?: RetryLaw | undefined;
}

/** When retries run; times in milliseconds. */
export type RetryLaw = { law: 'FIXED'; delay: number } | { law: 'EXPONENTIAL'; delay: number; maxDelay: number } | { law: 'LIST'; delays: number[] };

/** An instance that is due and waits for a worker. */
export interface ReadyRow extends ReadyKey {
  id: string;
  /** As a user knows it; left out in what a transition made ready. */
  taskId?: string | undefined;
  type: string;
  /** When it was due at first; of a run of a schedule the time for which it stands. */
  scheduledAt: number;
  /** Attempts that were started so far. */
  attempts: number;
  retryTimes: number;
  lostTimes: number;
  policy: RunPolicy;
  /** The job's bytes when they are small (4 KiB); otherwise `start` brings them. */
  job?: Buffer | undefined;
}

/** A ready row with its group, as it enters the ready set. */
export type NewlyReady = ReadyRow & { nodeGroup: string };

/** An instance that a worker has. */
export interface ExecutingRow {
  seq: number;
  id: string;
  nodeGroup: string;
  /** As a user knows it. */
  taskId: string;
  type: string;
  priority: number;
  dueAt: number;
  /** As in ReadyRow. */
  scheduledAt: number;
  attempt: number;
  fence: number;
  worker: WorkerIdentity;
  assignedAt: number;
  cancelling: boolean;
  retryTimes: number;
  lostTimes: number;
  policy: RunPolicy;
}

/** A process start of a TaskTracker. */
export interface WorkerIdentity {
  nodeId: string;
  incarnation: string;
}
