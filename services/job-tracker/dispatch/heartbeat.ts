import { LtsError } from '../../../shared/errors/lts-error.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { WorkerDirectory } from './worker-directory.js';

/** Pings every session and cuts off those that have been silent for three intervals: their grace time starts. */
export class Heartbeat {
  readonly #directory: WorkerDirectory;
  readonly #intervalMs: number;
  readonly #clock: Clock;
  #beatAt: number;

  constructor(directory: WorkerDirectory, intervalMs: number, clock: Clock) {
    this.#directory = directory;
    this.#intervalMs = intervalMs;
    this.#clock = clock;
    this.#beatAt = clock.monotonic();
  }

  /** To be called once per interval. */
  beat(): void {
    const now = this.#clock.monotonic();
    // After a pause of this process itself nothing can be said of the others: what they sent has not been read yet.
    const paused = now - this.#beatAt > 2 * this.#intervalMs;
    this.#beatAt = now;
    for (const { session } of this.#directory.all()) {
      if (session === undefined) continue;
      if (paused) session.heardAt = now;
      const silentMs = session.paused ? 0 : now - session.heardAt;
      if (silentMs > 3 * this.#intervalMs) session.end(new LtsError('DEADLINE_PASSED', `nothing was heard for ${Math.round(silentMs)} ms; reconnect`));
      else session.ping(now);
    }
  }
}
