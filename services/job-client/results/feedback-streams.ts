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
  #known = '';

  constructor(parts: FeedbackParts) {
    this.#parts = parts;
    this.#subscription = parts.router.onChange(() => this.#follow());
    this.#follow();
  }

  /** Leaves all trackers; resolves as FeedbackStream.close does. */
  async close(): Promise<void> {
    this.#subscription.close();
    const left = [...this.#streams.values()].map((stream) => stream.close());
    this.#streams.clear();
    await Promise.all(left);
  }

  /** What a caller learns of one owner is no reason to try all streams at once; a new map is, and a tracker that answers again. */
  #follow(): void {
    const { router } = this.#parts;
    const live = new Set(router.live);
    const known = `${router.mapVersion} ${router.connected}`;
    const isNews = known !== this.#known;
    this.#known = known;
    for (const [address, stream] of this.#streams) {
      if (live.has(address)) {
        if (isNews) stream.hurry();
      } else {
        void stream.close();
        this.#streams.delete(address);
      }
    }
    for (const address of live) if (!this.#streams.has(address)) this.#streams.set(address, new FeedbackStream(address, this.#parts));
  }
}
