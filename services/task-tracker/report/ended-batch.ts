import type { AttemptOutcome__Output } from '../../../shared/grpc/generated/lts/v1/AttemptOutcome.js';

/** What a run has to say that is not a SUCCESS without a message. */
export interface EndDetails {
  outcome: AttemptOutcome__Output;
  message: string;
  truncated: boolean;
  /** Milliseconds since 1970 UTC; 0: by the job's policy. */
  retryAt: number;
}

/** One run that has ended. */
export interface EndedRun extends EndDetails {
  handle: number;
  startedAt: number;
  endedAt: number;
}

/** Runs that have ended, packed like tasks (stream/task-batch.ts). */
export interface EndedBatch {
  /** For each run in turn: handle, start, end. */
  numbers: Float64Array;
  /** By row; rows without details are a SUCCESS without a message. */
  details: Map<number, EndDetails>;
}

const width = 3;
const plain: EndDetails = { outcome: 'ATTEMPT_OUTCOME_SUCCESS', message: '', truncated: false, retryAt: 0 };

/** Gathers runs that have ended. */
export class EndedBatchWriter {
  readonly #numbers: number[] = [];
  readonly #details = new Map<number, EndDetails>();

  add({ handle, startedAt, endedAt, outcome, message, truncated, retryAt }: EndedRun): void {
    const isPlain = outcome === plain.outcome && message === '' && !truncated && retryAt === 0;
    if (!isPlain) this.#details.set(this.#numbers.length / width, { outcome, message, truncated, retryAt });
    this.#numbers.push(handle, startedAt, endedAt);
  }

  finish(): EndedBatch {
    return { numbers: Float64Array.from(this.#numbers), details: this.#details };
  }
}

/** Calls with each run, in order. */
export function readEnded({ numbers, details }: EndedBatch, take: (handle: number, startedAt: number, endedAt: number, details: EndDetails) => void): void {
  for (let at = 0; at < numbers.length; at += width) {
    take(numbers[at] as number, numbers[at + 1] as number, numbers[at + 2] as number, details.get(at / width) ?? plain);
  }
}
