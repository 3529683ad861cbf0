import { LtsError, toLtsError } from '../../../shared/errors/lts-error.js';
import { reasons } from '../../../shared/errors/reasons.js';
import type { SubmitResult } from '../../../shared/grpc/generated/lts/v1/SubmitResult.js';
import type { CallParts } from '../discover/call-owner.js';
import type { Outbox } from '../outbox/outbox.js';
import { Batcher } from './batcher.js';
import type { PendingJob, ResultSink } from './pending-job.js';
import { rejected, sendBatch } from './send-batch.js';

/** How jobs are sent. */
export interface SubmitterSettings {
  /** After so long without a tracker that takes it a job is stored or refused. Milliseconds. */
  timeoutMs: number;
  /** Jobs and bytes on their way in this process; more must wait or is refused. */
  maxJobs: number;
  maxBytes: number;
  /** Where jobs are kept that could not be sent; without it they are refused. */
  outbox: Outbox | undefined;
}

/** Limits of one call; a call may hold 1,000 jobs or 4 MiB. */
const callJobs = 500;
const callBytes = 3 * 1024 * 1024;
const callsInFlight = 8;
const windowMs = 2;

/**
 * The way of a job out of this process: behind its key in the outbox, or into the batch to its owner, and into the
 * outbox when no one takes it in time.
 */
export class Submitter {
  readonly #parts: CallParts;
  readonly #settings: SubmitterSettings;
  /** By owner, '' while it is not known; late jobs apart. */
  readonly #batchers = new Map<string, Batcher>();
  readonly #room: (() => void)[] = [];
  #jobs = 0;
  #bytes = 0;

  constructor(parts: CallParts, settings: SubmitterSettings) {
    this.#parts = parts;
    this.#settings = settings;
  }

  /** Whether more jobs may be given now. */
  get hasRoom(): boolean {
    return this.#jobs < this.#settings.maxJobs && this.#bytes < this.#settings.maxBytes;
  }

  /** Resolves when there is room again. */
  whenRoom(): Promise<void> {
    if (this.hasRoom) return Promise.resolve();
    return new Promise((resolve) => this.#room.push(resolve));
  }

  /** Throws TOO_MANY_CALLS when there is no room. */
  requireRoom(): void {
    if (this.hasRoom) return;
    throw new LtsError('TOO_MANY_CALLS', `${this.#jobs} jobs with ${this.#bytes} bytes are on their way to the JobTracker; back off and send the same ids again`);
  }

  /** Takes a job; its sink gets the answer in any case. */
  submit(job: PendingJob): void {
    const { outbox } = this.#settings;
    try {
      if (outbox?.holds(job.nodeGroup, job.taskId)) return outbox.add(job);
    } catch (error) {
      return job.sink.settle(job.index, rejected(job, toLtsError(error)));
    }
    this.#jobs++;
    this.#bytes += job.bytes.length;
    this.#batcherTo(`${job.late ? 'late ' : ''}${this.#parts.router.ownerOf(job.nodeGroup) ?? ''}`).add(job);
  }

  /** Resolves when all that was given has its answer. */
  async whenIdle(): Promise<void> {
    while (this.#jobs > 0) await Promise.all([...this.#batchers.values()].map((batcher) => batcher.whenIdle()));
    this.#settings.outbox?.flush();
  }

  #batcherTo(name: string): Batcher {
    const known = this.#batchers.get(name);
    if (known !== undefined) return known;
    for (const [other, idle] of this.#batchers) if (idle.isIdle) this.#batchers.delete(other);
    const batcher = new Batcher({
      send: (jobs) => this.#send(jobs),
      clock: this.#parts.clock,
      maxInFlight: callsInFlight,
      maxJobs: callJobs,
      maxBytes: callBytes,
      windowMs,
    });
    this.#batchers.set(name, batcher);
    return batcher;
  }

  async #send(jobs: PendingJob[]): Promise<void> {
    const { outbox, timeoutMs } = this.#settings;
    try {
      const unsent = await sendBatch(this.#parts, jobs, timeoutMs);
      if (unsent.jobs.length > 0 && outbox !== undefined) outbox.addUnsent(unsent.jobs);
      else for (const job of unsent.jobs) job.sink.settle(job.index, rejected(job, unsent.why));
    } catch (error) {
      for (const job of jobs) job.sink.settle(job.index, rejected(job, toLtsError(error)));
    } finally {
      this.#jobs -= jobs.length;
      for (const job of jobs) this.#bytes -= job.bytes.length;
      if (this.hasRoom) for (const resolve of this.#room.splice(0)) resolve();
    }
  }
}

/** Collects the results of one call of the caller. */
export class ResultList implements ResultSink {
  readonly results: SubmitResult[];
  readonly #settled: Promise<SubmitResult[]>;
  #left: number;
  #resolve: (results: SubmitResult[]) => void = () => undefined;

  constructor(count: number) {
    this.results = Array.from({ length: count });
    this.#left = count;
    this.#settled = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    if (count === 0) this.#resolve(this.results);
  }

  settle(index: number, result: SubmitResult): void {
    if (this.results[index] !== undefined) return;
    this.results[index] = result;
    if (--this.#left === 0) this.#resolve(this.results);
  }

  /** All results in the order of the jobs. */
  all(): Promise<SubmitResult[]> {
    return this.#settled;
  }
}

/** The answer for a job that did not pass the check. */
export function refusedValue(error: unknown): SubmitResult {
  const { reason, message } = toLtsError(error);
  return { instance_id: '', outcome: 'SUBMIT_OUTCOME_REJECTED', reason, message, code: reasons[reason].code };
}
