/** A page ends at the row that takes it beyond so many bytes of text: an answer must fit into one message of 4 MiB. */
export const pageBytes = 2 * 1024 * 1024;
/** What a row takes beside its text, about. */
export const rowBytes = 256;

/** The rows up to the limits; `full`: there may be more. */
export function page<T>(rows: Iterable<T>, limit: number, textOf: (row: T) => string | null): { rows: T[]; full: boolean } {
  const taken: T[] = [];
  let bytes = 0;
  for (const row of rows) {
    taken.push(row);
    bytes += rowBytes + Buffer.byteLength(textOf(row) ?? '');
    if (taken.length === limit || bytes >= pageBytes) return { rows: taken, full: true };
  }
  return { rows: taken, full: false };
}
