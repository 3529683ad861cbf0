import type { FeedbackSettlement, LogRow } from '../../queue-store.js';
import { levelCodes } from '../codes.js';
import type { RunStatement } from './ordered-calls.js';
import { PgFailure } from './pg-errors.js';

/** Rows of one statement: small, as it holds locks and pages that commits want, too. */
const stepRows = 200;
const stepSettlements = 500;
const stepBytes = 256 * 1024;
/** Two owners in turn may number the lines of one instance at once. */
const mostTries = 4;

const appendSql = `WITH place AS MATERIALIZED (
    SELECT d.id, coalesce((SELECT max(line) FROM lts.log WHERE log.id = d.id), 0) AS last FROM (SELECT DISTINCT unnest($1::uuid[]) AS id) d
    WHERE EXISTS (SELECT 1 FROM lts.instance WHERE instance.id = d.id))
  INSERT INTO lts.log (id, line, attempt, at, level, text, truncated)
  SELECT n.id, p.last + row_number() OVER (PARTITION BY n.id ORDER BY n.ord), n.attempt, n.at, n.level, n.text, n.truncated
  FROM unnest($1::uuid[], $2::int[], $3::bigint[], $4::smallint[], $5::text[], $6::boolean[]) WITH ORDINALITY AS n(id, attempt, at, level, text, truncated, ord)
  JOIN place p USING (id)`;

const failSql = `UPDATE lts.feedback f SET deliveries = f.deliveries + 1, last_error = n.message, next_at = n.next_at, dead = n.dead
  FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::boolean[]) AS n(id, message, next_at, dead) WHERE f.id = n.id`;

const resendSql = 'UPDATE lts.feedback SET dead = false, deliveries = 0, next_at = $1 WHERE dead AND id = ANY ';
const deadOfGroup = '(ARRAY(SELECT id FROM lts.feedback WHERE dead AND client_id = (SELECT client_id FROM lts.client_group WHERE name = $2) LIMIT $3))';

/** Appends lines; those of unknown instances are dropped. */
export async function appendLogs(low: RunStatement, lines: readonly LogRow[]): Promise<void> {
  for (let from = 0, to = 0; from < lines.length; from = to) {
    to = stepEnd(lines, from);
    const step = lines.slice(from, to);
    const values = [
      step.map(({ id }) => id),
      step.map(({ attempt }) => attempt),
      step.map(({ at }) => at),
      step.map(({ level }) => levelCodes[level]),
      step.map(({ text }) => text),
      step.map(({ truncated }) => truncated),
    ];
    await againOnConflict(() => low(appendSql, values));
  }
}

async function againOnConflict(work: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await work();
      return;
    } catch (error) {
      if (!(error instanceof PgFailure) || error.sqlState !== '23505' || tries === mostTries) throw error;
    }
  }
}

function stepEnd(lines: readonly LogRow[], from: number): number {
  let bytes = 0;
  let to = from;
  while (to < lines.length && to - from < stepRows && bytes < stepBytes) bytes += (lines[to++] as LogRow).text.length;
  return to;
}

/** Settles what receivers made of results. */
export async function settleFeedback(low: RunStatement, { taken, failed }: FeedbackSettlement): Promise<void> {
  for (let from = 0; from < taken.length; from += stepSettlements) {
    await low('DELETE FROM lts.feedback WHERE id = ANY ($1::uuid[])', [taken.slice(from, from + stepSettlements)]);
  }
  for (let from = 0; from < failed.length; from += stepSettlements) {
    const step = failed.slice(from, from + stepSettlements);
    const values = [step.map(({ id }) => id), step.map(({ message }) => message), step.map(({ nextAt }) => nextAt), step.map(({ dead }) => dead)];
    await low(failSql, values);
  }
}

/** Puts dead results back into delivery, these or all of a group; tells how many. */
export async function resendFeedback(low: RunStatement, ids: readonly string[], submitNodeGroup: string, now: number): Promise<number> {
  let total = 0;
  for (let from = 0; from < ids.length; from += stepRows) {
    total += (await low(`${resendSql} ($2::uuid[])`, [now, ids.slice(from, from + stepRows)])).rowCount ?? 0;
  }
  for (let changed = ids.length === 0 ? stepRows : 0; changed === stepRows; total += changed) {
    changed = (await low(`${resendSql} ${deadOfGroup}`, [now, submitNodeGroup, stepRows])).rowCount ?? 0;
  }
  return total;
}
