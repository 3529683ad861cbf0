import { readGivenFields } from '../../../shared/grpc/job-codec.js';
import type { Job__Output } from '../../../shared/grpc/generated/lts/v1/Job.js';
import { isSchedule } from '../../../shared/job/check-schedule.js';
import type { RunnerJob } from './runner.js';

/** A job of the contract in the words of the library. */
export class DecodedJob implements RunnerJob {
  readonly #job: Job__Output;

  /** Throws on bytes that are no job. */
  constructor(bytes: Uint8Array) {
    this.#job = readGivenFields(bytes);
  }

  get taskId(): string {
    return this.#job.task_id;
  }

  get nodeGroup(): string {
    return this.#job.node_group;
  }

  get type(): string {
    return this.#job.type;
  }

  get payload(): Buffer {
    return this.#job.payload;
  }

  get contentType(): string {
    return this.#job.content_type;
  }

  get extParams(): Readonly<Record<string, string>> {
    return this.#job.ext_params;
  }

  get priority(): number {
    return this.#job.priority ?? 100;
  }

  get maxRetryTimes(): number {
    return this.#job.max_retry_times;
  }

  get executionTimeoutMs(): number {
    return this.#job.execution_timeout;
  }

  get submitNodeGroup(): string {
    return this.#job.submit_node_group;
  }

  get scheduled(): boolean {
    return isSchedule(this.#job);
  }

  text(): string {
    return this.payload.toString('utf8');
  }

  json<T = unknown>(): T {
    return (this.payload.length === 0 ? undefined : JSON.parse(this.text())) as T;
  }
}
