import type { AttemptOutcome__Output } from '../../../shared/grpc/generated/lts/v1/AttemptOutcome.js';
import type { EndDetails } from '../report/ended-batch.js';
import type { AbortReason } from '../stream/messages.js';
import { DecodedJob } from './decoded-job.js';
import { RunAborted } from './runner.js';

/** What is known of a task when it arrives. */
export interface TaskFacts {
  /** Its number within this process. */
  handle: number;
  instanceId: string;
  attempt: number;
  /** Milliseconds since 1970 UTC. */
  scheduledTime: number;
  fencingToken: number;
  retryTimes: number;
}

/** The record that the steps of runJob fill in: one attempt on this worker, from its arrival to its report. */
export class Run {
  readonly facts: TaskFacts;
  readonly #jobBytes: Uint8Array;
  #job: DecodedJob | undefined;
  #controller: AbortController | undefined;
  /** The first reason for which it was asked to stop. */
  aborted: AbortReason | undefined;
  /** Lines that were written so far; see the cap in job-context.ts. */
  lines = 0;
  lineBytes = 0;
  /** Wall time in milliseconds since 1970 UTC; 0 before. */
  startedAt = 0;
  endedAt = 0;
  outcome: AttemptOutcome__Output = 'ATTEMPT_OUTCOME_UNSPECIFIED';
  message = '';
  truncated = false;
  /** Milliseconds since 1970 UTC; 0: by the job's policy. */
  retryAt = 0;

  constructor(facts: TaskFacts, jobBytes: Uint8Array) {
    this.facts = facts;
    this.#jobBytes = jobBytes;
  }

  /** Decoded when it is first asked for. Throws on bytes that are no job. */
  get job(): DecodedJob {
    return (this.#job ??= new DecodedJob(this.#jobBytes));
  }

  get jobBytes(): Uint8Array {
    return this.#jobBytes;
  }

  /** Made when it is first asked for: most runners never do. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.aborted !== undefined) this.#controller.abort(new RunAborted(this.aborted));
    }
    return this.#controller.signal;
  }

  settle({ outcome, message, truncated, retryAt }: EndDetails): void {
    this.outcome = outcome;
    this.message = message;
    this.truncated = truncated;
    this.retryAt = retryAt;
  }

  abort(why: AbortReason): void {
    if (this.aborted !== undefined) return;
    this.aborted = why;
    this.#controller?.abort(new RunAborted(why));
  }
}
