import type { Clock } from './clock.js';

/** The best measurement counts for so long, in milliseconds: clocks drift. */
const holdsMs = 60_000;

/**
 * How far the clock of a peer is off, by questions that bring its time back. A clock that is read on the way can be off
 * by half of the way there and back: of those in the last minute the quickest counts. A clock that was set shows as more
 * than the ways explain. The estimate rests on the monotonic clock here, so that setting this host's clock does not harm it.
 */
export class ClockEstimate {
  /** `ms`: the peer's clock minus the monotonic one here. */
  #best: { ms: number; tripMs: number; at: number } | undefined;

  /** The peer told its time, in wall milliseconds; it was asked and heard at these monotonic times. */
  heard(time: number, askedAt: number, heardAt: number): void {
    const tripMs = heardAt - askedAt;
    const ms = time - (askedAt + tripMs / 2);
    const best = this.#best;
    const outdated = best === undefined || heardAt - best.at > holdsMs || Math.abs(best.ms - ms) > best.tripMs + tripMs + 1;
    if (outdated || tripMs <= best.tripMs) this.#best = { ms, tripMs, at: heardAt };
  }

  /** The peer's clock minus this one, in whole milliseconds; undefined: not known. */
  against(clock: Clock): number | undefined {
    return this.#best === undefined ? undefined : Math.round(this.#best.ms - (clock.now() - clock.monotonic())) + 0;
  }
}
