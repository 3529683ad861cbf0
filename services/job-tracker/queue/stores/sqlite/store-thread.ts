import { Worker } from 'node:worker_threads';
import { LtsError, messageOf } from '../../../../../shared/errors/lts-error.js';
import type { Clock, Timer } from '../../../../../shared/time/clock.js';
import type { FailureMessage } from './store-failure.js';

/** A call into a store thread. */
export interface CallMessage {
  call: number;
  name: string;
  args: readonly unknown[];
}

/** Its answer, or something told unasked. */
export type ThreadMessage<N> = { call: number; value: unknown } | { call: number; failure: FailureMessage } | { notice: N };

interface Pending {
  resolve(value: unknown): void;
  reject(error: ThreadFailure): void;
  timer: Timer;
}

/** A call that failed; `rolledBack` as in CommitFailed. */
export class ThreadFailure extends LtsError {
  readonly rolledBack: boolean;

  constructor({ reason, message, rolledBack }: FailureMessage, cause?: unknown) {
    super(reason, message, { cause });
    this.rolledBack = rolledBack;
  }
}

/** What a thread serves: names, arguments and values. */
export type Served = Record<string, (...args: never[]) => unknown>;

/**
 * The near end of a worker thread. Calls are answered in their order. When the thread dies or a deadline passes, the
 * outcome of what was called is unknown: the promise rejects with STORE_FAILED and rolledBack false; nothing hangs.
 */
export class StoreThread<S extends Served, N> {
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #pending = new Map<number, Pending>();
  #calls = 0;
  #dead: string | undefined;
  #exited: Promise<void>;

  constructor(options: {
    entry: URL;
    data: unknown;
    clock: Clock;
    deadlineMs: number;
    onNotice: (notice: N) => void;
    onDeath: (message: string) => void;
  }) {
    this.#clock = options.clock;
    this.#deadlineMs = options.deadlineMs;
    this.#worker = new Worker(options.entry, { workerData: options.data });
    this.#worker.on('message', (message: ThreadMessage<N>) => ('notice' in message ? options.onNotice(message.notice) : this.#settle(message)));
    let reason = 'it ended';
    this.#worker.on('error', (error) => (reason = messageOf(error)));
    this.#worker.on('messageerror', (error) => (reason = messageOf(error)));
    this.#exited = new Promise((resolve) =>
      this.#worker.on('exit', () => {
        this.#dead ??= `the store's thread has ended: ${reason}`;
        options.onDeath(this.#dead);
        this.#failAll(this.#dead);
        resolve();
      }),
    );
  }

  call<K extends keyof S & string>(name: K, args: Parameters<S[K]>, transfer: ArrayBuffer[] = []): Promise<ReturnType<S[K]>> {
    if (this.#dead !== undefined) return Promise.reject(unknownOutcome(this.#dead));
    const call = ++this.#calls;
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(this.#deadlineMs, () => {
        this.#pending.delete(call);
        reject(unknownOutcome(`the store did not answer ${name} within ${this.#deadlineMs} ms`));
      });
      this.#pending.set(call, { resolve: resolve as (value: unknown) => void, reject, timer });
      this.#worker.postMessage({ call, name, args } satisfies CallMessage, transfer);
    });
  }

  /** Ends the thread, whatever it does; it has been asked to close before. */
  async end(): Promise<void> {
    this.#dead ??= 'the store is closed';
    await this.#worker.terminate();
    await this.#exited;
  }

  #settle(message: { call: number; value: unknown } | { call: number; failure: FailureMessage }): void {
    const pending = this.#pending.get(message.call);
    if (pending === undefined) return;
    this.#pending.delete(message.call);
    pending.timer.cancel();
    if ('failure' in message) pending.reject(new ThreadFailure(message.failure));
    else pending.resolve(message.value);
  }

  #failAll(message: string): void {
    for (const pending of this.#pending.values()) {
      pending.timer.cancel();
      pending.reject(unknownOutcome(message));
    }
    this.#pending.clear();
  }
}

function unknownOutcome(message: string): ThreadFailure {
  return new ThreadFailure({ reason: 'STORE_FAILED', message, rolledBack: false });
}
