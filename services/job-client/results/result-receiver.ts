import { messageOf } from '../../../shared/errors/lts-error.js';
import type { JobResult__Output } from '../../../shared/grpc/generated/lts/v1/JobResult.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { FeedbackStream } from './feedback-stream.js';
import { type FeedbackParts, FeedbackStreams } from './feedback-streams.js';

/** The final result of one job. Delivered at least once: `feedback_id` is the same at every delivery. */
export type JobResult = JobResult__Output;

/** Takes one result. The result is acked when it has resolved, and delivered again after a while when it threw. */
export type ResultHandler = (result: JobResult) => void | Promise<void>;

/** A receiver of results. */
export interface ResultSubscription {
  /** Takes no more, waits for handlers that run (at most 10 s) and sends their acks; resolves when these are stored, or 3 s later. */
  close(): Promise<void>;
}

/** Runs the handler for each result that comes, so many at once, and acks after it. */
export class ResultReceiver {
  readonly #handler: ResultHandler;
  readonly #maxRunning: number;
  readonly #clock: Clock;
  readonly #streams: FeedbackStreams;
  /** By feedback id: the stream that brought it last. A repeat while it is handled is no second call. */
  readonly #held = new Map<string, FeedbackStream>();
  readonly #queue: JobResult[] = [];
  #running = 0;
  #closed = false;
  readonly #idle: (() => void)[] = [];

  constructor(parts: Omit<FeedbackParts, 'onResults'>, handler: ResultHandler, maxRunning: number) {
    this.#handler = handler;
    this.#maxRunning = maxRunning;
    this.#clock = parts.clock;
    this.#streams = new FeedbackStreams({ ...parts, onResults: (from, results) => this.#take(from, results) });
  }

  /** Starts no more handlers, waits for those that run, but no longer than `graceMs`, sends their acks, waits until trackers have stored them, and leaves. */
  async close(graceMs = 10_000): Promise<void> {
    this.#closed = true;
    this.#queue.length = 0;
    if (this.#running > 0) {
      const timer = this.#clock.after(graceMs, () => this.#wakeIdle());
      await new Promise<void>((resolve) => this.#idle.push(resolve));
      timer.cancel();
    }
    await this.#streams.close();
  }

  #wakeIdle(): void {
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #take(from: FeedbackStream, results: readonly JobResult[]): void {
    for (const result of results) {
      if (!this.#held.has(result.feedback_id)) this.#queue.push(result);
      this.#held.set(result.feedback_id, from);
    }
    this.#runNext();
  }

  #runNext(): void {
    while (!this.#closed && this.#running < this.#maxRunning) {
      const result = this.#queue.shift();
      if (result === undefined) return;
      this.#running++;
      void this.#run(result);
    }
  }

  async #run(result: JobResult): Promise<void> {
    const id = result.feedback_id;
    try {
      await this.#handler(result);
      this.#held.get(id)?.ack(id);
    } catch (error) {
      this.#held.get(id)?.fail(id, messageOf(error));
    }
    this.#held.delete(id);
    this.#running--;
    this.#runNext();
    if (this.#running === 0) this.#wakeIdle();
  }
}
