import type { LowWork } from './low-lane.js';
import type { Writer } from './writer.js';

/** Instances that one transaction deletes. */
const stepInstances = 100;
/** Ended rows that one transaction looks at. */
const stepRows = 2_000;

/**
 * Deletes instances that ended before a time, with all that belongs to them. Arrival order is nearly the order of the
 * ends, so it walks along the arrivals instead of keeping an index of ends, which every run would pay for.
 */
export function* purge(writer: Writer, before: number, limit: number): LowWork<number> {
  let deleted = 0;
  let after = 0;
  while (deleted < limit) {
    const most = Math.min(stepInstances, limit - deleted);
    const step = writer.transact(({ db }) => {
      const rows = db
        .prepare<[number, number], { seq: number; endedAt: number }>('SELECT seq, ended_at AS endedAt FROM ended WHERE seq > ? ORDER BY seq LIMIT ?')
        .all(after, stepRows);
      const old = rows.filter((row) => row.endedAt < before).slice(0, most);
      const remove = deletions.map((text) => db.prepare(text));
      for (const { seq } of old) for (const statement of remove) statement.run(seq);
      const last = old.length === most ? old.at(-1) : rows.at(-1);
      return { deleted: old.length, last: last?.seq, end: old.length < most && rows.length < stepRows };
    });
    deleted += step.deleted;
    if (step.end || step.last === undefined) break;
    after = step.last;
    yield;
  }
  return deleted;
}

/** In this order: the feedback row is found through the others. */
const deletions = [
  `DELETE FROM feedback WHERE (client_id, dead, owed) IN (
     SELECT i.client_id, d.dead, e.owed FROM instance i CROSS JOIN ended e ON e.seq = i.seq CROSS JOIN (SELECT 0 AS dead UNION ALL SELECT 1) d
     WHERE i.seq = ? AND e.owed IS NOT NULL)`,
  'DELETE FROM log WHERE seq = ?',
  'DELETE FROM attempt WHERE seq = ?',
  'DELETE FROM instance WHERE seq = ?',
  'DELETE FROM ended WHERE seq = ?',
];
