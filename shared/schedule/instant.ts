const isoForm = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2}))?$/i;

/** ISO 8601 with Z or an offset, a date (its midnight in UTC), or milliseconds since 1970; undefined for anything else. */
export function parseInstant(value: string | number): number | undefined {
  if (typeof value === 'number' || /^\d{1,15}$/.test(value)) {
    const instant = Number(value);
    return Number.isInteger(instant) && Math.abs(instant) <= 8.64e15 ? instant : undefined;
  }
  const date = isoForm.exec(value)?.[1];
  // Date.parse takes the 30th of February for the 2nd of March.
  if (date === undefined || formatInstant(Date.parse(date))?.slice(0, 10) !== date) return undefined;
  const instant = Date.parse(value.toUpperCase());
  return Number.isNaN(instant) ? undefined : instant;
}

/** ISO 8601 in UTC: 2026-01-05T12:00:00Z, with milliseconds only where there are some; undefined for no instant. */
export function formatInstant(instant: number): string | undefined {
  const date = new Date(instant);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString().replace('.000Z', 'Z');
}

/** The time of a wall clock with this offset: 2026-01-05T13:00:00+01:00. All in milliseconds. */
export function formatLocal(instant: number, offset: number): string {
  const local = new Date(instant + offset).toISOString().slice(0, -1).replace(/\.000$/, '');
  const seconds = Math.abs(offset) / 1_000;
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, '0'));
  return `${local}${offset < 0 ? '-' : '+'}${parts.slice(0, parts[2] === '00' ? 2 : 3).join(':')}`;
}
