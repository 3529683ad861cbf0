import type { Database } from 'better-sqlite3';
import { systemClock } from '../../../../../shared/time/clock.js';
import type { LowWork } from './low-lane.js';
import type { Writer } from './writer.js';

/** Instances that one transaction deletes. */
const stepInstances = 100;
/** Ended rows that one step looks at. */
const stepRows = 2_000;
/** A worker that got no attempt for so long before `before` is in no record any more that is kept. */
const workerGraceMs = 2 * 86_400_000;

interface EndedRow {
  seq: number;
  endedAt: number;
  createdAt: number;
}

/**
 * Deletes instances that ended before a time, with all that belongs to them. It walks along the arrivals, which are
 * nearly in the order of the ends, instead of keeping an index of ends for which every run would pay; it stops at the
 * first one that arrived too late to have ended before.
 */
export function* purge(writer: Writer, before: number, limit: number): LowWork<number> {
  let deleted = 0;
  let after = 0;
  while (deleted < limit) {
    const rows = writer.read(({ db }) => endedAfter(db, after));
    const arrivedBefore = rows.filter((row) => row.createdAt < before);
    const old = arrivedBefore.filter((row) => row.endedAt < before).slice(0, Math.min(stepInstances, limit - deleted));
    if (old.length > 0) writer.transact(({ db, facts }) => remove(db, old, facts));
    deleted += old.length;
    const cut = old.length === stepInstances;
    const last = cut ? old.at(-1) : arrivedBefore.at(-1);
    if (last === undefined || (!cut && arrivedBefore.length < stepRows)) break;
    after = last.seq;
    yield;
  }
  if (deleted > 0 && deleted < limit) writer.transact(({ db, names }) => forgetWorkers(db, before, names));
  return deleted;
}

function endedAfter(db: Database, seq: number): EndedRow[] {
  return db
    .prepare<[number, number], EndedRow>(
      `SELECT e.seq, e.ended_at AS endedAt, i.created_at AS createdAt FROM ended e CROSS JOIN instance i ON i.seq = e.seq
       WHERE e.seq > ? ORDER BY e.seq LIMIT ?`,
    )
    .all(seq, stepRows);
}

function remove(db: Database, rows: readonly EndedRow[], facts: { delete(seq: number): void }): void {
  const statements = deletions.map((text) => db.prepare<[number]>(text));
  for (const { seq } of rows) {
    for (const statement of statements) statement.run(seq);
    facts.delete(seq);
  }
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

/** Those with an attempt that runs count as used now, so that their names outlive it by the retention. */
function forgetWorkers(db: Database, before: number, names: { clear(): void }): void {
  db.prepare('UPDATE worker SET used_at = max(used_at, ?) WHERE worker_id IN (SELECT worker_id FROM executing)').run(systemClock.now());
  if (db.prepare('DELETE FROM worker WHERE used_at < ?').run(before - workerGraceMs).changes > 0) names.clear();
}
