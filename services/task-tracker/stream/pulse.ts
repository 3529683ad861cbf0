import type { Logger } from '../../../shared/log/logger.js';
import type { Clock, Timer } from '../../../shared/time/clock.js';

const everyMs = 500;
/** Silence that is still normal. */
const toleratedMs = 1_000;

/** Asks the thread that runs tasks, again and again, whether it still answers. */
export class Pulse {
  readonly #clock: Clock;
  readonly #ask: () => void;
  readonly #log: Logger;
  #timer: Timer | undefined;
  /** Monotonic time of the question that waits for its answer. */
  #askedAt: number | undefined;
  #told = false;

  constructor(clock: Clock, log: Logger, ask: () => void) {
    this.#clock = clock;
    this.#log = log;
    this.#ask = ask;
    this.#next();
  }

  /** For how long there was no answer, in milliseconds; 0 when it answers. */
  get blockedMs(): number {
    if (this.#askedAt === undefined) return 0;
    const silentMs = this.#clock.monotonic() - this.#askedAt;
    return silentMs > toleratedMs ? Math.round(silentMs) : 0;
  }

  answered(): void {
    const { blockedMs } = this;
    this.#askedAt = undefined;
    if (blockedMs === 0) return;
    this.#told = false;
    this.#log.info('runner.blocked', { what: 'it answers again', blockedMs });
  }

  close(): void {
    this.#timer?.cancel();
  }

  #next(): void {
    this.#timer = this.#clock.after(
      everyMs,
      () => {
        this.#look();
        this.#next();
      },
      { unref: true },
    );
  }

  #look(): void {
    if (this.#askedAt === undefined) {
      this.#askedAt = this.#clock.monotonic();
      this.#ask();
    } else if (this.blockedMs > 0 && !this.#told) {
      this.#told = true;
      this.#log.warn('runner.blocked', { what: 'give the runner a thread of its own (thread: true)', blockedMs: this.blockedMs });
    }
  }
}
