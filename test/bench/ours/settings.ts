/** What our producer and our workers need to know. */
export interface LtsSettings {
  /** host:port of the JobTrackers. */
  trackers: string[];
  /** Where the workers may keep their FailStores. */
  folder: string;
  /** Node groups among which the jobs are spread, one worker each. */
  groups: number;
  /** Tasks that run at once, over all groups. */
  workThreads: number;
}

/** The group that runs a job. */
export const nodeGroupOf = (jobNumber: number, groups: number): string => `bench-${jobNumber % groups}`;

/** Of all workers of a process that is to be killed. */
export const nodeIdOf = (pid: number): string => `worker-${pid}`;
