import type { RetryLaw } from '../queue/queue-store.js';

const defaultDelayMs = 30_000;

/** How long retry number `retry` (from 1) waits, in milliseconds. */
export function retryDelay(law: RetryLaw | undefined, retry: number): number {
  switch (law?.law) {
    case undefined:
      return defaultDelayMs;
    case 'FIXED':
      return law.delay;
    case 'EXPONENTIAL':
      return Math.min(law.delay * 2 ** Math.min(retry - 1, 52), law.maxDelay);
    case 'LIST':
      return law.delays[Math.min(retry, law.delays.length) - 1] ?? defaultDelayMs;
  }
}
