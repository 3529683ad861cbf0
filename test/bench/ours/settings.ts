/** What our producer and our worker need to know. */
export interface LtsSettings {
  /** host:port of the JobTracker. */
  tracker: string;
  /** Where the worker may keep its FailStore. */
  folder: string;
  /** Tasks that the worker runs at once. */
  workThreads: number;
}

/** The group that runs all jobs of the benchmark. */
export const nodeGroup = 'bench';
