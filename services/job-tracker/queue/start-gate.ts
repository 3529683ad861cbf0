import type { Clock, Timer } from '../../../shared/time/clock.js';
import type { GroupLimits } from './queue-store.js';

/** The limit that lets nothing of a group begin. */
export type HoldingLimit = 'maxRunning' | 'startsPerSecond';

/**
 * What may begin of one group. Starts that `startsPerSecond` did not use gather for one second, and at least to one
 * start. It begins with none, so that neither a take-over nor another rate gives a second burst.
 */
export class StartGate {
  /** Starts on their way into the store. */
  starting = 0;
  /** Runs while the group waits for its next start. */
  wake: Timer | undefined;
  #limits: GroupLimits = {};
  #gathered = 0;
  #countedAt: number | undefined;
  /** Those of `starting` that began under another rate; they end first. */
  #ofOtherRate = 0;

  get limits(): GroupLimits {
    return this.#limits;
  }

  set(limits: GroupLimits): void {
    // Another limit that is set again and again must not take away what has gathered.
    if (limits.startsPerSecond !== this.#limits.startsPerSecond) {
      this.#gathered = 0;
      this.#countedAt = undefined;
      this.#ofOtherRate = this.starting;
    }
    this.#limits = limits;
    this.close();
  }

  /** Lets go of the timer. */
  close(): void {
    this.wake?.cancel();
    this.wake = undefined;
  }

  /** @param executing attempts of the group that run, by the store */
  heldBy(executing: number, clock: Clock): HoldingLimit | undefined {
    const { maxRunning, startsPerSecond } = this.#limits;
    if (maxRunning !== undefined && executing + this.starting >= maxRunning) return 'maxRunning';
    if (startsPerSecond === undefined) return undefined;
    this.#count(startsPerSecond, clock);
    return this.#gathered < 1 ? 'startsPerSecond' : undefined;
  }

  /** How long until the next start, in milliseconds; 0 when no rate is set. */
  msToNext(clock: Clock): number {
    const { startsPerSecond } = this.#limits;
    if (startsPerSecond === undefined) return 0;
    this.#count(startsPerSecond, clock);
    return Math.max(0, Math.ceil(((1 - this.#gathered) * 1_000) / startsPerSecond));
  }

  /** A start that nothing holds goes on its way. */
  begin(): void {
    this.starting++;
    this.#gathered--;
  }

  /** The start is in the store, or came to nothing: then another one may take its place. */
  end(started: boolean): void {
    this.starting--;
    if (this.#ofOtherRate > 0) this.#ofOtherRate--;
    else if (!started) this.#gathered++;
  }

  get #most(): number {
    return Math.max(1, this.#limits.startsPerSecond ?? 0);
  }

  #count(perSecond: number, clock: Clock): void {
    const now = clock.monotonic();
    const passedMs = now - (this.#countedAt ?? now);
    this.#countedAt = now;
    this.#gathered = Math.min(this.#most, this.#gathered + (passedMs * perSecond) / 1_000);
  }
}
