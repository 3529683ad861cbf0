/** Limits of a node group; what is undefined is not limited by the group. */
export interface GroupLimits {
  /** Waiting and ready jobs; more are refused. */
  backlog?: number | undefined;
  /** Attempts at once, over all workers. */
  maxRunning?: number | undefined;
  /** May be a fraction. */
  startsPerSecond?: number | undefined;
}

/** Gives a node group these limits in place of those that it had. A group that is not known yet is made. */
export interface Limit {
  kind: 'limit';
  partition: number;
  nodeGroup: string;
  limits: GroupLimits;
}

export interface LimitOutcome {
  kind: 'limit';
}
