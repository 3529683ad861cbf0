import type { Clock } from '../../../shared/time/clock.js';
import { ClockEstimate } from '../../../shared/time/clock-estimate.js';

/** How far the clock of a worker is off, by pings that carry it back. */
export class ClockOffset {
  readonly #estimate = new ClockEstimate();
  #asked: { nonce: number; at: number } | undefined;

  /** A ping is about to be written. */
  asked(nonce: number, now: number): void {
    this.#asked = { nonce, at: now };
  }

  /** Its answer came, with the time of the peer's clock; 0: it does not tell. */
  answered(nonce: number, time: number, now: number): void {
    const asked = this.#asked;
    if (asked?.nonce !== nonce || !Number.isSafeInteger(time) || time <= 0) return;
    this.#asked = undefined;
    this.#estimate.heard(time, asked.at, now);
  }

  /** The peer's clock minus this one, in whole milliseconds; undefined: not known. */
  against(clock: Clock): number | undefined {
    return this.#estimate.against(clock);
  }
}
