import type { Database, Statement } from 'better-sqlite3';
import { idFromBytes } from '../../../../../shared/ids.js';
import type { FeedbackRow } from '../../queue-store.js';
import { isRunKey, taskIdOf } from '../../task-key.js';
import { finalStateOf, outcomeOf } from '../codes.js';

interface FeedbackData extends Omit<FeedbackRow, 'id' | 'state' | 'outcome' | 'dead'> {
  id: Buffer;
  state: number;
  outcome: number | null;
  dead: number;
}

const select = `SELECT f.owed AS seq, i.id, i.task_id AS taskId, i.due_at AS scheduledAt, g.name AS nodeGroup, c.name AS submitNodeGroup, e.state, e.outcome, e.message,
    e.attempts AS attempt, e.ended_at AS endedAt, f.deliveries, f.dead, f.next_at AS nextAt, f.last_error AS lastError
  FROM client_group c CROSS JOIN feedback f ON f.client_id = c.client_id CROSS JOIN instance i ON i.seq = f.seq
  CROSS JOIN ended e ON e.seq = f.seq CROSS JOIN node_group g ON g.group_id = i.group_id`;

/** Reads of the feedback queue. */
export class FeedbackReads {
  readonly #due: Statement<[string, number, number, string, number], FeedbackData>;
  readonly #ofGroup: Statement<[string, number, number], FeedbackData>;
  readonly #counts: Statement<[], { submitNodeGroup: string; owed: number; dead: number }>;
  readonly #groups: Statement<[], string>;

  constructor(db: Database) {
    this.#due = db.prepare(
      `${select} WHERE c.name = ? AND f.dead = 0 AND f.owed > ? AND f.next_at <= ? AND g.part IN (SELECT value FROM json_each(?)) ORDER BY f.owed LIMIT ?`,
    );
    this.#ofGroup = db.prepare(`${select} WHERE c.name = ? AND f.dead = ? ORDER BY f.owed LIMIT ?`);
    this.#counts = db.prepare(
      `SELECT c.name AS submitNodeGroup, count(*) AS owed, sum(f.dead) AS dead FROM feedback f JOIN client_group c USING (client_id)
       GROUP BY f.client_id ORDER BY c.name`,
    );
    this.#groups = db
      .prepare<[], string>('SELECT name FROM client_group c WHERE EXISTS (SELECT 1 FROM feedback f WHERE f.client_id = c.client_id) ORDER BY name')
      .pluck();
  }

  due(submitNodeGroup: string, partitions: readonly number[], afterSeq: number, now: number, limit: number): FeedbackRow[] {
    return this.#due.all(submitNodeGroup, afterSeq, now, JSON.stringify(partitions), limit).map(feedbackRow);
  }

  /** Dead ones first, then oldest first; of all groups when the name is empty. */
  list(submitNodeGroup: string, deadOnly: boolean, limit: number): FeedbackRow[] {
    const groups = submitNodeGroup === '' ? this.#groups.all() : [submitNodeGroup];
    const of = (dead: 0 | 1) => groups.flatMap((group) => this.#ofGroup.all(group, dead, limit)).toSorted((a, b) => a.seq - b.seq);
    const rows = deadOnly ? of(1) : [...of(1), ...of(0)];
    return rows.slice(0, limit).map(feedbackRow);
  }

  counts(): { submitNodeGroup: string; owed: number; dead: number }[] {
    return this.#counts.all();
  }
}

function feedbackRow(row: FeedbackData): FeedbackRow {
  const scheduledAt = isRunKey(row.taskId) ? row.scheduledAt : 0;
  return { ...row, id: idFromBytes(row.id), taskId: taskIdOf(row.taskId), scheduledAt, state: finalStateOf(row.state), outcome: outcomeOf(row.outcome), dead: row.dead === 1 };
}
