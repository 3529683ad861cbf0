/** The same work for every contender. */
export interface Work {
  /** All jobs as fast as they go, or one at a time with an idle moment before each. */
  scenario: 'throughput' | 'latency';
  /** Jobs that count. */
  jobs: number;
  /** Jobs that run before these and do not count: they open connections and warm the code up. */
  warmUp: number;
  /** Jobs per submit call. */
  batch: number;
  /** Submit calls in flight at once. */
  inFlight: number;
  /** Bytes of payload per job. */
  payload: number;
}

/** The middle and the tail of many durations, in milliseconds. */
export interface Percentiles {
  p50: number;
  p99: number;
}

/** What one contender did with the work in one round. */
export interface Measurement {
  /** Jobs by the time from the first submit call to the last durable end of a job. */
  jobsPerSecond: number;
  /** From the call that submits a job to the start of its runner. */
  submitToStartMs: Percentiles;
  /** Jobs that were acked to the producer and never ran. */
  lost: number;
  /** Runs beyond the first of a job. */
  duplicates: number;
}

/** A job system with its real servers, a producer and a worker, each a process of its own. */
export interface Contender {
  readonly name: string;
  /** Starts everything on an empty store. */
  start(): Promise<void>;
  run(work: Work): Promise<Measurement>;
  /** Stops everything and deletes the store. */
  stop(): Promise<void>;
}
