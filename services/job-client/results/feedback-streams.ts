import type { Subscription } from '../../../shared/registry/registry.js';
import type { Router } from '../discover/router.js';
import { FeedbackStream, type FeedbackStreamParts } from './feedback-stream.js';

/** What the streams of one receiver need. */
export interface FeedbackParts extends FeedbackStreamParts {
  router: Router;
}

/** One receiver of results: a stream to every live tracker, since each owner holds the results of its partitions. */
export class FeedbackStreams {
  readonly #parts: FeedbackParts;
  readonly #streams = new Map<string, FeedbackStream>();
  readonly #subscription: Subscription;

  constructor(parts: FeedbackParts) {
    this.#parts = parts;
    this.#subscription = parts.router.onChange(() => this.#follow());
    this.#follow();
  }

  close(): void {
    this.#subscription.close();
    for (const stream of this.#streams.values()) stream.close();
    this.#streams.clear();
  }

  #follow(): void {
    const live = new Set(this.#parts.router.live);
    for (const [address, stream] of this.#streams) {
      if (live.has(address)) stream.hurry();
      else {
        stream.close();
        this.#streams.delete(address);
      }
    }
    for (const address of live) if (!this.#streams.has(address)) this.#streams.set(address, new FeedbackStream(address, this.#parts));
  }
}
