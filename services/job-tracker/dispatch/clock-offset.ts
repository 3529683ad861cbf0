import type { Clock } from '../../../shared/time/clock.js';

/** The best measurement counts for so long, in milliseconds: clocks drift. */
const holdsMs = 60_000;

/**
 * How far the clock of a peer is off, by pings that carry it back. A clock that is read on the way can be off by half of
 * the way there and back: of those in the last minute the quickest counts. A clock that was set shows as more than the ways explain.
 */
export class ClockOffset {
  #asked: { nonce: number; at: number } | undefined;
  /** `ms`: the peer's clock minus the monotonic one here. */
  #best: { ms: number; tripMs: number; at: number } | undefined;

  /** A ping is about to be written. */
  asked(nonce: number, now: number): void {
    this.#asked = { nonce, at: now };
  }

  /** Its answer came, with the time of the peer's clock; 0: it does not tell. */
  answered(nonce: number, time: number, now: number): void {
    const asked = this.#asked;
    if (asked?.nonce !== nonce || !Number.isSafeInteger(time) || time <= 0) return;
    this.#asked = undefined;
    const tripMs = now - asked.at;
    const ms = time - (asked.at + tripMs / 2);
    const best = this.#best;
    const outdated = best === undefined || now - best.at > holdsMs || Math.abs(best.ms - ms) > best.tripMs + tripMs + 1;
    if (outdated || tripMs <= best.tripMs) this.#best = { ms, tripMs, at: now };
  }

  /** The peer's clock minus this one, in whole milliseconds; undefined: not known. */
  against(clock: Clock): number | undefined {
    return this.#best === undefined ? undefined : Math.round(this.#best.ms - (clock.now() - clock.monotonic()));
  }
}
