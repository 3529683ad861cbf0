import type { TaskResult } from '../../../shared/grpc/generated/lts/v1/TaskResult.js';
import type { BegunRun } from './messages.js';

/** One attempt that this worker has: it runs, or its result waits for an ack, or both when it ran out of time. */
export interface Attempt {
  /** Number within this process; 0 for attempts that do not run here. */
  readonly handle: number;
  /** See keyOf. */
  readonly key: string;
  readonly instanceId: string;
  readonly attempt: number;
  /** Wall time at which it came; 0 when it did not come to run. */
  readonly acceptedAt: number;
  /** Its runner has not ended: it occupies a slot. */
  running: boolean;
  /** Its time limit, once it has begun. */
  limit: BegunRun | undefined;
  /** What it ended with; kept until a tracker has settled it. */
  result: TaskResult | undefined;
  /** Monotonic milliseconds at which the result came. */
  finishedAt: number;
  /** The result is in the FailStore. */
  stored: boolean;
  /** The result was settled: nothing is owed. */
  settled: boolean;
}

/** Names an attempt in maps. */
export function keyOf(instanceId: string, attempt: number): string {
  return `${instanceId}/${attempt}`;
}

/** The attempts whose runners have not ended, by handle, and all attempts by name. */
export class Attempts {
  readonly #byHandle = new Map<number, Attempt>();
  readonly #byKey = new Map<string, Attempt>();
  #lastHandle = 0;

  /** How many slots are occupied. */
  get running(): number {
    return this.#byHandle.size;
  }

  /** A task is taken. The caller has seen that it is new. */
  accept(key: string, instanceId: string, attempt: number, now: number): Attempt {
    const accepted = newAttempt(++this.#lastHandle, key, instanceId, attempt, now);
    accepted.running = true;
    this.#byHandle.set(accepted.handle, accepted);
    this.#byKey.set(key, accepted);
    return accepted;
  }

  /** An attempt that does not run here, for its result. */
  note(instanceId: string, attempt: number): Attempt {
    const noted = newAttempt(0, keyOf(instanceId, attempt), instanceId, attempt, 0);
    this.#byKey.set(noted.key, noted);
    return noted;
  }

  byHandle(handle: number): Attempt | undefined {
    return this.#byHandle.get(handle);
  }

  byKey(key: string): Attempt | undefined {
    return this.#byKey.get(key);
  }

  /** Its runner has ended: the slot is free. */
  ended(attempt: Attempt): void {
    attempt.running = false;
    this.#byHandle.delete(attempt.handle);
  }

  /** Nothing is owed for it any more. */
  forget(attempt: Attempt): void {
    attempt.settled = true;
    this.#byKey.delete(attempt.key);
  }

  /** Those whose runners have not ended. */
  get runningOnes(): IterableIterator<Attempt> {
    return this.#byHandle.values();
  }

  /** All that a tracker must know of. */
  get all(): IterableIterator<Attempt> {
    return this.#byKey.values();
  }
}

function newAttempt(handle: number, key: string, instanceId: string, attempt: number, acceptedAt: number): Attempt {
  return { handle, key, instanceId, attempt, acceptedAt, running: false, limit: undefined, result: undefined, finishedAt: 0, stored: false, settled: false };
}
