/*
 * Words of workers cannot be refused like those of callers: the run is over whatever they say. What no store could keep
 * is made harmless instead.
 */

/** The text without NUL, which not every store takes. */
export function storable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text;
}

/** A time in milliseconds since 1970 UTC; 0 when it can be none. */
export function storableTime(ms: number): number {
  return Number.isSafeInteger(ms) && ms > 0 ? ms : 0;
}
