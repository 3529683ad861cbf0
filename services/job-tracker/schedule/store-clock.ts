import type { Clock, Timer } from '../../../shared/time/clock.js';
import type { QueueStore, StoreHealth } from '../queue/queue-store.js';

/** A measurement that is further off is a jump. */
const jumpMs = 1_000;
/** Clocks tell whole milliseconds: smaller differences say nothing. */
const grainMs = 2;
const retryMs = 500;

/**
 * The clock by which jobs are due: the store's. Between two measurements it goes on with the monotonic clock, so that a
 * step of this host's wall clock does not move it when the store has a clock of its own. Trackers on one store agree,
 * whatever their hosts say. A store on this host has the host's clock: then this one follows it.
 */
export class StoreClock implements Clock {
  readonly #host: Clock;
  readonly #onJump: (byMs: number) => void;
  /** The store's clock minus the monotonic one. */
  #offset: number;
  #measured = false;

  /** @param onJump told when the store's clock has jumped against the monotonic one */
  constructor(host: Clock, onJump: (byMs: number) => void) {
    this.#host = host;
    this.#onJump = onJump;
    this.#offset = host.now() - host.monotonic();
  }

  now(): number {
    return Math.floor(this.#host.monotonic() + this.#offset);
  }

  monotonic(): number {
    return this.#host.monotonic();
  }

  after(delayMs: number, callback: () => void, options?: { unref?: boolean }): Timer {
    return this.#host.after(delayMs, callback, options);
  }

  soon(callback: () => void): void {
    this.#host.soon(callback);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return this.#host.sleep(delayMs, signal);
  }

  /** The wall clock of this host minus the store's, in milliseconds. */
  get hostOffsetMs(): number {
    return this.#host.now() - this.now();
  }

  /**
   * Reads the store's clock, and gives what the store said of itself. To be called about every second; a store that
   * does not answer leaves things as they are.
   */
  async measure(store: Pick<QueueStore, 'health'>): Promise<StoreHealth> {
    let health = await store.health();
    // This host's clock may have been set between the reading and its use: only a jump that shows twice is believed.
    if (Math.abs(this.#difference(health)) > jumpMs) health = await store.health();
    if (health.state === 'AWAY' || health.state === 'CLOSED') return health;
    const byMs = this.#difference(health);
    const jumped = this.#measured && Math.abs(byMs) > jumpMs;
    this.#measured = true;
    if (Math.abs(byMs) >= grainMs) this.#offset += byMs;
    if (jumped) this.#onJump(Math.round(byMs));
    return health;
  }

  /** Reads until the store's clock is known, or it is not needed any more. */
  async known(store: Pick<QueueStore, 'health'>, isOver: () => boolean): Promise<void> {
    for (;;) {
      await this.measure(store);
      if (this.#measured || isOver()) return;
      await this.sleep(retryMs);
    }
  }

  /** By how much the store's clock is ahead of this one. */
  #difference({ clockOffsetMs }: StoreHealth): number {
    return this.#host.now() + clockOffsetMs - (this.#host.monotonic() + this.#offset);
  }
}
