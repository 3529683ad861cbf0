import type { FeedbackRow } from '../../queue-store.js';
import { isRunKey, taskIdOf } from '../../task-key.js';
import { finalStateOf, outcomeOf } from '../codes.js';
import type { RunStatement } from './ordered-calls.js';

interface FeedbackData extends Omit<FeedbackRow, 'state' | 'outcome'> {
  state: number;
  outcome: number | null;
}

/** Owed results of one group are counted up to here. */
const mostCounted = 100_000;

/** Of keys (client_id, part, …) of the queue's index: a page from each partition, then the oldest of them. */
const select = (keys: string, order: string): string => `SELECT f.owed AS seq, f.id, i.task_id AS "taskId", i.due_at AS "scheduledAt", g.name AS "nodeGroup", c.name AS "submitNodeGroup",
    e.state, e.outcome, e.message, e.attempts AS attempt, e.ended_at AS "endedAt", f.deliveries, f.dead, f.next_at AS "nextAt", f.last_error AS "lastError"
  FROM (${keys}) f JOIN lts.client_group c USING (client_id)
  CROSS JOIN LATERAL (SELECT group_id, task_id, due_at FROM lts.instance WHERE id = f.id OFFSET 0) i
  CROSS JOIN LATERAL (SELECT * FROM lts.ended WHERE id = f.id OFFSET 0) e JOIN lts.node_group g USING (group_id) ORDER BY ${order}`;

const dueSelect = select(
  `SELECT q.* FROM unnest($2::int[]) part CROSS JOIN LATERAL (
     SELECT * FROM lts.feedback WHERE client_id = (SELECT client_id FROM lts.client_group WHERE name = $1) AND feedback.part = part.part AND dead = false
       AND owed > $3 AND next_at <= $4 ORDER BY owed LIMIT $5) q
   ORDER BY q.owed LIMIT $5`,
  'f.owed',
);

const listSelect = select(
  `SELECT q.* FROM lts.client_group n CROSS JOIN lts.meta CROSS JOIN LATERAL generate_series(0, meta.partitions - 1) AS p(part)
   CROSS JOIN (VALUES (true), (false)) AS d(dead) CROSS JOIN LATERAL (
     SELECT * FROM lts.feedback WHERE client_id = n.client_id AND feedback.part = p.part AND feedback.dead = d.dead ORDER BY owed LIMIT $3) q
   WHERE ($1 = '' OR n.name = $1) AND (d.dead OR NOT $2) ORDER BY q.dead DESC, q.owed LIMIT $3`,
  'f.dead DESC, f.owed',
);

const countSelect = `SELECT c.name AS "submitNodeGroup", q.owed, q.dead FROM lts.client_group c CROSS JOIN LATERAL (
    SELECT count(*) AS owed, count(*) FILTER (WHERE r.dead) AS dead FROM (SELECT dead FROM lts.feedback WHERE client_id = c.client_id LIMIT ${mostCounted}) r) q
  WHERE q.owed > 0 ORDER BY c.name`;

/** Reads of the feedback queue. */
export class FeedbackReads {
  readonly #read: RunStatement;

  constructor(read: RunStatement) {
    this.#read = read;
  }

  async due(submitNodeGroup: string, partitions: readonly number[], afterSeq: number, now: number, limit: number): Promise<FeedbackRow[]> {
    return (await this.#read<FeedbackData>(dueSelect, [submitNodeGroup, partitions, afterSeq, now, limit])).rows.map(feedbackRow);
  }

  /** Dead ones first, then oldest first; of all groups when the name is empty. */
  async list(submitNodeGroup: string, deadOnly: boolean, limit: number): Promise<FeedbackRow[]> {
    return (await this.#read<FeedbackData>(listSelect, [submitNodeGroup, deadOnly, limit])).rows.map(feedbackRow);
  }

  async counts(): Promise<{ submitNodeGroup: string; owed: number; dead: number }[]> {
    return (await this.#read<{ submitNodeGroup: string; owed: number; dead: number }>(countSelect)).rows;
  }
}

function feedbackRow(row: FeedbackData): FeedbackRow {
  const scheduledAt = isRunKey(row.taskId) ? row.scheduledAt : 0;
  return { ...row, taskId: taskIdOf(row.taskId), scheduledAt, state: finalStateOf(row.state), outcome: outcomeOf(row.outcome) };
}
