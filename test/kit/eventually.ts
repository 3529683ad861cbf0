import { systemClock } from '../../shared/time/clock.js';

/** How long to wait and how often to look. */
export interface EventuallyOptions {
  /** Longest wait in milliseconds. Default 10,000. */
  withinMs?: number;
  /** Pause between two looks in milliseconds. Default 20. */
  everyMs?: number;
  /** What is waited for, for the message of the failure. */
  what?: string;
}

/**
 * Waits until `look` gives something truthy and returns it. A throw counts as "not yet". Fails with the last value or
 * error when the deadline passes.
 */
export async function eventually<T>(look: () => T | Promise<T>, options: EventuallyOptions = {}): Promise<Exclude<T, undefined | null | false>> {
  const { withinMs = 10_000, everyMs = 20, what = look.toString() } = options;
  const until = systemClock.monotonic() + withinMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await look();
      if (value) return value as Exclude<T, undefined | null | false>;
      last = value;
    } catch (error) {
      last = error;
    }
    if (systemClock.monotonic() > until) throw new Error(`not within ${withinMs} ms: ${what} (last: ${String(last)})`, { cause: last });
    await systemClock.sleep(everyMs);
  }
}
