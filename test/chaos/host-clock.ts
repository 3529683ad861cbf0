import { systemClock } from '../../shared/time/clock.js';

/**
 * Time that all processes of this host share and no fault changes: milliseconds of the kernel's monotonic clock. The
 * wall clock of a process may be set wrong on purpose.
 */
export function hostMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** What to add to `hostMs()` for the true wall time. For processes whose wall clock is true. */
export function wallOffsetMs(): number {
  return Math.round(systemClock.now() - hostMs());
}
