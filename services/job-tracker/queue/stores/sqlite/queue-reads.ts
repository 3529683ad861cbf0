import type { Database, Statement } from 'better-sqlite3';
import type { HeldEpoch, LogRow, ReadyKey, StoredOwner } from '../../queue-store.js';
import { levelOf } from '../codes.js';
import { page } from '../page.js';

interface LogData extends Omit<LogRow, 'level' | 'truncated' | 'id'> {
  line: number;
  level: number;
  truncated: number;
}

/** Short reads of log lines, queue positions and epochs. */
export class QueueReads {
  readonly #logs: Statement<[string, number, { attempt: number }, number], LogData>;
  readonly #before: Statement<[string, number, number, number, number], number>;
  readonly #epoch: Statement<[number], number>;
  readonly #owners: Statement<[], StoredOwner>;

  constructor(db: Database) {
    this.#logs = db.prepare(
      `SELECT l.line, l.attempt, l.at, l.level, l.text, l.truncated FROM instance i CROSS JOIN log l ON l.seq = i.seq
       WHERE i.id = unhex(?, '-') AND l.line > ? AND (@attempt = 0 OR l.attempt = @attempt) ORDER BY l.line LIMIT ?`,
    );
    this.#before = db
      .prepare<[string, number, number, number, number], number>(
        `SELECT count(*) FROM (SELECT 1 FROM node_group g CROSS JOIN ready r ON r.group_id = g.group_id
         WHERE g.name = ? AND (r.priority, r.due_at, r.seq) < (?, ?, ?) LIMIT ?)`,
      )
      .pluck();
    this.#epoch = db.prepare<[number], number>('SELECT epoch FROM ownership WHERE part = ?').pluck();
    this.#owners = db.prepare(
      "SELECT part AS partition, epoch, coalesce(node_id, '') AS nodeId, coalesce(incarnation, '') AS incarnation FROM ownership ORDER BY part",
    );
  }

  logs(id: string, attempt: number, afterLine: number, limit: number): { rows: LogRow[]; nextAfter: number | undefined } {
    const { rows: found, full } = page(this.#logs.iterate(id, afterLine, { attempt }, limit), limit, ({ text }) => text);
    const rows = found.map(({ line: _line, ...row }) => ({ ...row, id, level: levelOf(row.level), truncated: row.truncated === 1 }));
    return { rows, nextAfter: full ? found.at(-1)?.line : undefined };
  }

  countBefore(nodeGroup: string, key: ReadyKey, most: number): number {
    return this.#before.get(nodeGroup, key.priority, key.dueAt, key.seq, most) ?? 0;
  }

  owners(): StoredOwner[] {
    return this.#owners.all();
  }

  fenced(held: readonly HeldEpoch[]): number[] {
    return held.filter(({ partition, epoch }) => this.#epoch.get(partition) !== epoch).map(({ partition }) => partition);
  }
}
