import type { GroupLimits } from './group-limits.js';

/** A node group as its new owner finds it. */
export interface LoadedGroup {
  nodeGroup: string;
  waiting: number;
  ready: number;
  /** Undefined: it has none of its own. */
  limits?: GroupLimits | undefined;
}

/** Rows of a group; undefined: more than were to be counted. */
export interface GroupCounts {
  /** Those that wait for their time or their retry, and those that wait for a run of the same task. */
  waiting: number | undefined;
  ready: number | undefined;
}
