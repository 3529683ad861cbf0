/** The settings of graphile-worker that the benchmark varies; those left out stay at the library's defaults. */
export interface GraphileSettings {
  url: string;
  /** Concurrent connections to PostgreSQL. */
  maxPoolSize: number;
  worker: {
    concurrentJobs?: number;
    localQueue?: { size: number };
    /** Milliseconds; 0 puts what completes at the same time into one statement. */
    completeJobBatchDelay?: number;
    failJobBatchDelay?: number;
  };
}

/** The name of the only task. */
export const taskName = 'bench';

/** What a job carries. */
export interface GraphilePayload {
  number: number;
  data: string;
}

/** A lost connection to PostgreSQL ends the benchmark: its figure would mean nothing. */
export function rethrow(error: Error): void {
  throw error;
}
