import type { AttemptProgress } from '../../../shared/grpc/generated/lts/v1/AttemptProgress.js';
import type { WorkRequest } from '../../../shared/grpc/generated/lts/v1/WorkRequest.js';
import type { Clock, Timer } from '../../../shared/time/clock.js';

const betweenFramesMs = 100;
const mostPerFrame = 1_000;

/** The newest progress of each run, sent at most ten times a second. Never acked, never kept beyond the run. */
export class ProgressBoard {
  readonly #clock: Clock;
  readonly #onWaiting: () => void;
  readonly #entries = new Map<number, AttemptProgress>();
  #sentAt = -Infinity;
  #timer: Timer | undefined;

  constructor(clock: Clock, onWaiting: () => void) {
    this.#clock = clock;
    this.#onWaiting = onWaiting;
  }

  set(handle: number, entry: AttemptProgress): void {
    this.#entries.set(handle, entry);
  }

  ended(handle: number): void {
    if (this.#entries.size > 0) this.#entries.delete(handle);
  }

  nextFrame(): WorkRequest | undefined {
    if (this.#entries.size === 0) return undefined;
    const waitMs = this.#sentAt + betweenFramesMs - this.#clock.monotonic();
    if (waitMs > 0) {
      this.#timer ??= this.#clock.after(waitMs, () => {
        this.#timer = undefined;
        this.#onWaiting();
      }, { unref: true });
      return undefined;
    }
    this.#sentAt = this.#clock.monotonic();
    const entries: AttemptProgress[] = [];
    for (const [handle, entry] of this.#entries) {
      if (entries.length === mostPerFrame) break;
      entries.push(entry);
      this.#entries.delete(handle);
    }
    return { progress: { entries } };
  }

  close(): void {
    this.#timer?.cancel();
  }
}
