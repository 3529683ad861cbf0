import type { FeedbackSettlement, LogRow } from '../../queue-store.js';
import { levelCodes } from '../codes.js';
import type { Writer } from './writer.js';

/** Rows of one transaction of the lower lane: small, as a commit may have to wait for it. */
const stepRows = 200;
/** Settlements are cheaper than lines, and there is one for every result. */
const stepSettlements = 500;
const stepBytes = 256 * 1024;

/** Work of the lower lane: every step is one small transaction; between two steps commits may run. */
export type LowWork<T> = Generator<void, T>;

/** Appends lines; those of unknown instances are dropped. */
export function* appendLogs(writer: Writer, lines: readonly LogRow[]): LowWork<void> {
  let from = 0;
  while (from < lines.length) {
    const to = stepEnd(lines, from);
    const step = lines.slice(from, to);
    writer.transact(({ db, sql }) => {
      const last = db.prepare<[number], number>('SELECT coalesce(max(line), 0) FROM log WHERE seq = ?').pluck();
      const add = db.prepare('INSERT INTO log (seq, line, attempt, at, level, text, truncated) VALUES (?, ?, ?, ?, ?, ?, ?)');
      const places = new Map<string, { seq: number; line: number } | undefined>();
      for (const row of step) {
        if (!places.has(row.id)) {
          const seq = sql.seqById.get(row.id)?.seq;
          places.set(row.id, seq === undefined ? undefined : { seq, line: last.get(seq) ?? 0 });
        }
        const place = places.get(row.id);
        if (place !== undefined) add.run(place.seq, ++place.line, row.attempt, row.at, levelCodes[row.level], row.text, row.truncated ? 1 : 0);
      }
    });
    from = to;
    yield;
  }
}

function stepEnd(lines: readonly LogRow[], from: number): number {
  let bytes = 0;
  let to = from;
  while (to < lines.length && to - from < stepRows && bytes < stepBytes) bytes += (lines[to++] as LogRow).text.length;
  return to;
}

/** Settles what receivers made of results. */
export function* settleFeedback(writer: Writer, settled: FeedbackSettlement): LowWork<void> {
  for (let from = 0; from < settled.taken.length; from += stepSettlements) {
    const step = settled.taken.slice(from, from + stepSettlements);
    writer.transact(({ db }) => {
      const take = db.prepare(`DELETE FROM feedback WHERE (client_id, dead, owed) IN (${owedKeys})`);
      for (const id of step) take.run(id);
    });
    yield;
  }
  for (let from = 0; from < settled.failed.length; from += stepSettlements) {
    const step = settled.failed.slice(from, from + stepSettlements);
    writer.transact(({ db }) => {
      const fail = db.prepare(
        `UPDATE feedback SET deliveries = deliveries + 1, last_error = ?, next_at = ?, dead = ? WHERE (client_id, dead, owed) IN (${owedKeys})`,
      );
      for (const { id, message, nextAt, dead } of step) fail.run(message, nextAt, dead ? 1 : 0, id);
    });
    yield;
  }
}

/** The two possible keys of the result that an instance owes: alive or dead. */
const owedKeys = `SELECT i.client_id, d.dead, e.owed FROM instance i CROSS JOIN ended e ON e.seq = i.seq CROSS JOIN (SELECT 0 AS dead UNION ALL SELECT 1) d
  WHERE i.id = unhex(?, '-') AND e.owed IS NOT NULL`;

/** Puts dead results back into delivery; tells how many. */
export function* resendFeedback(writer: Writer, ids: readonly string[], submitNodeGroup: string, now: number): LowWork<number> {
  const again = 'UPDATE feedback SET dead = 0, deliveries = 0, next_at = ?';
  if (ids.length === 0) {
    let total = 0;
    for (;;) {
      const changed = writer.transact(
        ({ db }) =>
          db
            .prepare(
              `${again} WHERE (client_id, dead, owed) IN
               (SELECT f.client_id, f.dead, f.owed FROM client_group c CROSS JOIN feedback f ON f.client_id = c.client_id AND f.dead = 1 WHERE c.name = ? LIMIT ?)`,
            )
            .run(now, submitNodeGroup, stepRows).changes,
      );
      total += changed;
      if (changed < stepRows) return total;
      yield;
    }
  }
  let total = 0;
  for (let from = 0; from < ids.length; from += stepRows) {
    const step = ids.slice(from, from + stepRows);
    total += writer.transact(({ db }) => {
      const resend = db.prepare(`${again} WHERE (client_id, dead, owed) IN (${owedKeys}) AND dead = 1`);
      return step.reduce((sum, id) => sum + resend.run(now, id).changes, 0);
    });
    yield;
  }
  return total;
}
