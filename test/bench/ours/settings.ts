/** What our producer and our worker need to know. */
export interface LtsSettings {
  /** host:port of the JobTracker. */
  tracker: string;
  /** Where they may keep their FailStores. */
  folder: string;
}

/** The group that runs all jobs of the benchmark. */
export const nodeGroup = 'bench';
