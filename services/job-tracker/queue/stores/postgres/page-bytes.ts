import { pageBytes, rowBytes } from '../page.js';

/** The rows of a select up to the one that takes the page beyond its bytes: the others do not even leave the server. */
export function byteLimited(select: string, text: string, order: string): string {
  return `SELECT * FROM (
    SELECT q.*, coalesce(sum(${rowBytes} + octet_length(coalesce(q.${text}, ''))) OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes
    FROM (${select}) q) r WHERE r.bytes < ${pageBytes} ORDER BY ${order}`;
}
