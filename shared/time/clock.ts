import { performance } from 'node:perf_hooks';

/** A running timer. */
export interface Timer {
  cancel(): void;
}

/**
 * The only source of time and timers. A seeded simulation puts a virtual clock in its place.
 */
export interface Clock {
  /** Wall time in milliseconds since 1970 UTC. May jump in either direction. */
  now(): number;
  /** Monotonic milliseconds since an arbitrary start. Never goes back. */
  monotonic(): number;
  /** Calls back once after delayMs (monotonic; below 0 counts as 0, any length). Does not keep the process alive when `unref`. */
  after(delayMs: number, callback: () => void, options?: { unref?: boolean }): Timer;
  /** Calls back in the next turn of the loop: what this turn still brings is handled before. */
  soon(callback: () => void): void;
  /** Resolves after delayMs; rejects with the signal's reason when it is aborted first. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** setTimeout fires at once for longer delays, so longer ones are made of several. */
const longestTimeoutMs = 2 ** 31 - 1;

class SystemClock implements Clock {
  now(): number {
    return Date.now();
  }

  monotonic(): number {
    return performance.now();
  }

  after(delayMs: number, callback: () => void, options: { unref?: boolean } = {}): Timer {
    let handle: NodeJS.Timeout;
    const arm = (leftMs: number): void => {
      const stepMs = Math.min(Math.max(leftMs, 0), longestTimeoutMs);
      handle = setTimeout(() => (leftMs > stepMs ? arm(leftMs - stepMs) : callback()), stepMs);
      if (options.unref) handle.unref();
    };
    arm(delayMs);
    return { cancel: () => clearTimeout(handle) };
  }

  soon(callback: () => void): void {
    setImmediate(callback);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const onAbort = (): void => {
        timer.cancel();
        reject(signal?.reason as Error);
      };
      const timer = this.after(delayMs, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }
}

/** The clock of this machine. */
export const systemClock: Clock = new SystemClock();
