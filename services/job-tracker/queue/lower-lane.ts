import type { AttemptOutcome, FinalState } from './instance-state.js';

/** A line that a runner wrote. */
export interface LogRow {
  id: string;
  attempt: number;
  at: number;
  level: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR';
  text: string;
  truncated: boolean;
}

/** A result that is owed to a JobClient group. */
export interface FeedbackRow {
  /** Order in which results became owed (not the arrival of the instance). */
  seq: number;
  id: string;
  taskId: string;
  nodeGroup: string;
  submitNodeGroup: string;
  /** The scheduled time of a run; 0 of any other job. */
  scheduledAt: number;
  state: FinalState;
  outcome: AttemptOutcome | undefined;
  message: string;
  attempt: number;
  endedAt: number;
  deliveries: number;
  dead: boolean;
  nextAt: number;
  lastError: string;
}

/** What receivers made of results. */
export interface FeedbackSettlement {
  taken: string[];
  failed: { id: string; message: string; nextAt: number; dead: boolean }[];
}
