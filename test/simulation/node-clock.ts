import type { Clock, Timer } from '../../shared/time/clock.js';
import type { Process, Scheduler } from './scheduler.js';

/** The wall time at which every simulation begins. */
export const epochMs = 1_800_000_000_000;

/** The wall clock of a machine: it drifts, and somebody sets it. It outlives processes. */
export class WallClock {
  readonly #scheduler: Scheduler;
  /** Seconds of this clock per second. */
  readonly rate: number;
  #offsetMs: number;

  constructor(scheduler: Scheduler, rate: number, offsetMs: number) {
    this.#scheduler = scheduler;
    this.rate = rate;
    this.#offsetMs = offsetMs;
  }

  now(): number {
    return Math.floor(epochMs + this.#scheduler.now * this.rate + this.#offsetMs);
  }

  step(byMs: number): void {
    this.#offsetMs += byMs;
  }

  /** Shows the true time plus so much. */
  set(aheadMs: number): void {
    this.#offsetMs = aheadMs + this.#scheduler.now * (1 - this.rate);
  }
}

/** The clock of a process. Its timers fire a little late, as they do. */
export class NodeClock implements Clock {
  readonly #scheduler: Scheduler;
  readonly #process: Process;
  readonly #wall: WallClock;
  readonly #born: number;

  constructor(scheduler: Scheduler, process: Process, wall: WallClock) {
    this.#scheduler = scheduler;
    this.#process = process;
    this.#wall = wall;
    this.#born = scheduler.now;
  }

  now(): number {
    return this.#wall.now();
  }

  monotonic(): number {
    return (this.#scheduler.now - this.#born) * this.#wall.rate;
  }

  after(delayMs: number, callback: () => void): Timer {
    const lateMs = this.#scheduler.random.tail(1, 50);
    return this.#scheduler.after(Math.max(delayMs, 0) / this.#wall.rate + lateMs, 'timer', callback, this.#process);
  }

  soon(callback: () => void): void {
    this.#scheduler.after(this.#scheduler.random.next() * 0.2, 'soon', callback, this.#process);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const timer = this.after(delayMs, resolve);
      signal?.addEventListener('abort', () => {
        timer.cancel();
        reject(signal.reason as Error);
      });
    });
  }
}
