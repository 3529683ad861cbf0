import { LtsError, toLtsError } from '../../../shared/errors/lts-error.js';
import type { NewEntry } from '../../../shared/failstore/entry.js';
import type { FailStore } from '../../../shared/failstore/fail-store.js';
import type { CancelJobRequest } from '../../../shared/grpc/generated/lts/v1/CancelJobRequest.js';
import type { SubmitResult } from '../../../shared/grpc/generated/lts/v1/SubmitResult.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { Clock, Timer } from '../../../shared/time/clock.js';
import { keyOf, type PendingJob } from '../submit/pending-job.js';
import { rejected } from '../submit/send-batch.js';
import { cancelEntry, submitEntry } from './entries.js';

/*
 * What could not be sent, on this disk, until it can.
 *
 * A job comes here when no tracker took it in time. From then on:
 * - its key (task and group) is held: later submits and cancels of the key through this process queue behind it, and are
 *   sent one after the other in their order;
 * - its group goes straight here, without waiting for a tracker each time, until the drain (drain.ts) has an answer
 *   for the group.
 * A refusal (RESOURCE_EXHAUSTED too) is an answer and goes to the caller; it never comes here from a submit.
 *
 * Entries are sent with the ids that they were first sent with. What the scheduler has taken already, because only the
 * answer was lost, it knows again. An entry that is refused for good is set apart as dead, for a person to see and resend;
 * it holds no key.
 *
 * A flush does not undo what came later by other ways: the store of the scheduler replaces a waiting instance only by a
 * younger one (by the time in its id), and a cancel by task spares instances younger than the cancel.
 */

/** How long entries wait for others to share their transaction, in milliseconds. */
const gatherMs = 1;
/** More are not gathered. */
const gatherEntries = 1_000;
const gatherBytes = 4 * 1024 * 1024;

interface Waiting {
  entry: NewEntry;
  done: (error: LtsError | undefined) => void;
}

/** Stores entries, several in one transaction, and knows which keys and groups are held. */
export class Outbox {
  readonly store: FailStore;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #onStored: () => void;
  /** Groups whose last job was not taken in time. */
  readonly #heldGroups = new Set<string>();
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  /** Keys of those in `#waiting`. */
  readonly #waitingKeys = new Set<string>();
  #timer: Timer | undefined;

  constructor(store: FailStore, log: Logger, clock: Clock, onStored: () => void) {
    this.store = store;
    this.#log = log;
    this.#clock = clock;
    this.#onStored = onStored;
  }

  /** Whether a job must queue here instead of being sent. */
  holds(nodeGroup: string, taskId: string): boolean {
    if (this.#heldGroups.has(nodeGroup)) return true;
    const { entries, dead } = this.store.counts;
    if (entries === dead && this.#waiting.length === 0) return false;
    return this.#holdsKey(keyOf(nodeGroup, taskId));
  }

  /** Keeps a job and answers STORED_LOCALLY, or a refusal when there is no room. */
  add(job: PendingJob): void {
    this.#enqueue(submitEntry(job), (error) => job.sink.settle(job.index, error === undefined ? stored(job) : rejected(job, error)));
  }

  /** Keeps jobs that no tracker took in time; more of their groups come straight here until one is taken. */
  addUnsent(jobs: readonly PendingJob[]): void {
    for (const job of jobs) {
      this.#heldGroups.add(job.nodeGroup);
      this.add(job);
    }
  }

  /** Keeps a cancel when its job, or an earlier call for it, is still here. Gives undefined when it is not. */
  addCancel(request: CancelJobRequest): Promise<void> | undefined {
    const key = this.#keyOfCancel(request);
    if (key === undefined || !this.#holdsKey(key)) return undefined;
    return new Promise((resolve, reject) => {
      this.#enqueue(cancelEntry(request, key, this.#clock.now()), (error) => (error === undefined ? resolve() : reject(error)));
    });
  }

  /** The scheduler answers for the group again. */
  release(nodeGroup: string): void {
    this.#heldGroups.delete(nodeGroup);
  }

  /** Nothing is left to send: nothing is held. */
  releaseAll(): void {
    this.#heldGroups.clear();
  }

  /** Stores now what still gathers. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const batch = this.#waiting;
    this.#waiting = [];
    this.#waitingKeys.clear();
    this.#waitingBytes = 0;
    if (batch.length === 0) return;
    if (!this.#put(batch)) for (const one of batch) this.#put([one], true);
    this.#onStored();
  }

  #holdsKey(key: string): boolean {
    return this.#waitingKeys.has(key) || this.store.hasKey(key);
  }

  #keyOfCancel({ instance_id: id, task_id: taskId, node_group: nodeGroup = '' }: CancelJobRequest): string | undefined {
    if (!id) return keyOf(nodeGroup, taskId ?? '');
    return this.#waiting.find(({ entry }) => entry.id === id)?.entry.key ?? this.store.get(id)?.key;
  }

  #enqueue(entry: NewEntry, done: Waiting['done']): void {
    this.#waiting.push({ entry, done });
    this.#waitingKeys.add(entry.key);
    this.#waitingBytes += entry.body.length;
    if (this.#waiting.length >= gatherEntries || this.#waitingBytes >= gatherBytes) this.flush();
    else this.#timer ??= this.#clock.after(gatherMs, () => this.flush());
  }

  /** One transaction. False when it did not fit and there are others to try; a single one then gets the error. */
  #put(batch: readonly Waiting[], last = batch.length === 1): boolean {
    try {
      this.store.put(batch.map(({ entry }) => entry));
    } catch (error) {
      if (!last) return false;
      const known = toLtsError(error);
      if (known.reason !== 'FAIL_STORE_FULL') this.#log.error('failstore.failed', { error });
      for (const { done } of batch) done(known.reason === 'INTERNAL' ? new LtsError('STORE_FAILED', 'the FailStore failed; see the log', { cause: error }) : known);
      return true;
    }
    for (const { done } of batch) done(undefined);
    return true;
  }
}

function stored(job: PendingJob): SubmitResult {
  return {
    instance_id: job.instanceId,
    outcome: 'SUBMIT_OUTCOME_STORED_LOCALLY',
    message: 'no JobTracker took it in time: kept on the disk of this JobClient, and sent later with the same id',
  };
}
