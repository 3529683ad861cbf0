import { parseDuration } from '../../shared/time/duration.js';
import { UsageError } from './usage-error.js';

/** "+5s" from now, ISO 8601, or milliseconds since 1970; in milliseconds. Throws UsageError. */
export function parseTime(flag: string, value: string, nowMs: number): number {
  const delayMs = value.startsWith('+') ? parseDuration(value.slice(1)) : undefined;
  if (delayMs !== undefined) return nowMs + delayMs;
  if (/^\d{1,15}$/.test(value)) return Number(value);
  // Without a zone it would be another moment on each machine.
  const time = /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/i.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(time) && /^\d{4}-\d\d-\d\d/.test(value)) throw new UsageError(`${flag} ${value} does not say which moment it is: give time and zone, such as 2026-12-31T23:00:00Z or 2026-12-31T23:00:00+01:00`);
  if (Number.isNaN(time)) throw new UsageError(`${flag} ${value} is not a time such as 2026-12-31T23:00:00Z, +5s, or milliseconds since 1970`);
  return time;
}
