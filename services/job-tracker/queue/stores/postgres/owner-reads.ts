import { type ExecutingRow, type GroupCounts, type GroupLimits, heldUntil, type LoadedPartition, type ReadyKey, type ReadyRow } from '../../queue-store.js';
import { taskIdOf } from '../../task-key.js';
import { policyOf } from '../policy-text.js';
import { smallJobBytes } from '../small-jobs.js';
import type { RunStatement } from './ordered-calls.js';
import { loadSchedules } from './schedule-reads.js';

/*
 * What an owner reads, in the order of its commits. Rows of `live` are found first, by their index; what else is known
 * of each is looked up behind OFFSET 0, so that no plan walks the histories.
 */

interface ReadyData extends Omit<ReadyRow, 'policy' | 'job' | 'taskId'> {
  taskId: string;
  policy: string | null;
  job: Buffer | null;
}

interface ExecutingData extends Omit<ExecutingRow, 'policy' | 'worker'> {
  policy: string | null;
  nodeId: string | null;
  incarnation: string | null;
}

type LimitColumns = { [name in keyof Required<GroupLimits>]: number | null };
type GroupData = { nodeGroup: string; waiting: number; ready: number; nextDueAt: number | null } & LimitColumns;

const instanceOf = `LATERAL (SELECT type, policy, job, due_at FROM lts.instance WHERE id = l.id OFFSET 0) i`;

const readyText = `SELECT l.seq, l.id, l.task_id AS "taskId", i.type, l.priority, l.due_at AS "dueAt", i.due_at AS "scheduledAt", l.attempts, l.retry_times AS "retryTimes", l.lost_times AS "lostTimes",
    i.policy, CASE WHEN octet_length(i.job) <= ${smallJobBytes} THEN i.job END AS job
  FROM (SELECT * FROM lts.live WHERE group_id = (SELECT group_id FROM lts.node_group WHERE name = $1) AND state = 2
      AND (priority, due_at, seq) > ($2, $3, $4) ORDER BY priority, due_at, seq LIMIT $5) l, ${instanceOf}
  ORDER BY l.priority, l.due_at, l.seq`;

const executingText = `SELECT l.seq, l.id, g.name AS "nodeGroup", l.task_id AS "taskId", i.type, l.priority, l.due_at AS "dueAt", i.due_at AS "scheduledAt", l.attempts AS attempt, l.fence,
    w.node_id AS "nodeId", w.incarnation, l.assigned_at AS "assignedAt", l.state = 4 AS cancelling, l.retry_times AS "retryTimes", l.lost_times AS "lostTimes", i.policy
  FROM (SELECT * FROM lts.live WHERE part = $1 AND state >= 3 AND seq > $2 ORDER BY part, seq LIMIT $3) l
    JOIN lts.node_group g USING (group_id) LEFT JOIN lts.worker w USING (worker_id), ${instanceOf}
  ORDER BY l.seq`;

/** The least key. */
const beforeAll: ReadyKey = { priority: -2_147_483_648, dueAt: Number.MIN_SAFE_INTEGER, seq: 0 };

export async function readReady(query: RunStatement, nodeGroup: string, after: ReadyKey | undefined, limit: number): Promise<ReadyRow[]> {
  const { priority, dueAt, seq } = after ?? beforeAll;
  const { rows } = await query<ReadyData & Record<string, unknown>>(readyText, [nodeGroup, priority, dueAt, seq, limit]);
  return rows.map((row) => ({ ...row, taskId: taskIdOf(row.taskId), policy: policyOf(row.policy), job: row.job ?? undefined }));
}

export async function readExecuting(query: RunStatement, partition: number, afterSeq: number, limit: number | null): Promise<ExecutingRow[]> {
  const { rows } = await query<ExecutingData & Record<string, unknown>>(executingText, [partition, afterSeq, limit]);
  return rows.map(({ nodeId, incarnation, policy, ...row }) => ({
    ...row,
    taskId: taskIdOf(row.taskId),
    worker: { nodeId: nodeId ?? '', incarnation: incarnation ?? '' },
    policy: policyOf(policy),
  }));
}

export async function nextDue(query: RunStatement, partition: number): Promise<number | undefined> {
  const { rows } = await query<{ dueAt: number }>('SELECT due_at AS "dueAt" FROM lts.live WHERE part = $1 AND state = 1 ORDER BY due_at, seq LIMIT 1', [partition]);
  return timeOf(rows[0]?.dueAt);
}

/** When a waiting row is due; what is held waits for no time. */
function timeOf(dueAt: number | null | undefined): number | undefined {
  return dueAt === heldUntil ? undefined : (dueAt ?? undefined);
}

/** Rows of a kind, counted on at most `most` + 1 of them; of the waiting ones of the partition those of the group are counted. */
export async function recount(query: RunStatement, nodeGroup: string, most: number): Promise<GroupCounts> {
  const { rows } = await query<{ seen: number; waiting: number; blocked: number; ready: number }>(
    `SELECT w.seen, w.waiting, (SELECT count(*) FROM (SELECT 1 FROM lts.live WHERE group_id = g.group_id AND state = 0 LIMIT $2) b) AS blocked,
       (SELECT count(*) FROM (SELECT 1 FROM lts.live WHERE group_id = g.group_id AND state = 2 ORDER BY priority, due_at, seq LIMIT $2) r) AS ready
     FROM lts.node_group g, LATERAL (
       SELECT count(*) AS seen, count(*) FILTER (WHERE l.group_id = g.group_id) AS waiting
       FROM (SELECT group_id FROM lts.live WHERE part = g.part AND state = 1 ORDER BY due_at, seq LIMIT $2) l) w
     WHERE g.name = $1`,
    [nodeGroup, most + 1],
  );
  const { seen, waiting, blocked, ready } = rows[0] ?? { seen: 0, waiting: 0, blocked: 0, ready: 0 };
  return { waiting: seen > most || blocked > most ? undefined : waiting + blocked, ready: ready > most ? undefined : ready };
}

/** One statement for a partition without groups, of which there are many: a take-over loads all of its partitions at once. */
const groupsText = `SELECT g.name AS "nodeGroup", coalesce(w.rows, 0) + coalesce(b.rows, 0) AS waiting, coalesce(r.rows, 0) AS ready,
    g.backlog, g.max_running AS "maxRunning", g.starts_per_second AS "startsPerSecond",
    (SELECT due_at FROM lts.live WHERE part = $1 AND state = 1 ORDER BY due_at, seq LIMIT 1) AS "nextDueAt"
  FROM lts.node_group g
    LEFT JOIN (SELECT group_id, count(*) AS rows FROM lts.live WHERE part = $1 AND state = 1 GROUP BY group_id) w USING (group_id)
    LEFT JOIN (${countsOf(2)}) r USING (group_id) LEFT JOIN (${countsOf(0)}) b USING (group_id)
  WHERE g.part = $1 ORDER BY g.name`;

function countsOf(state: number): string {
  return `SELECT group_id, count(*) AS rows FROM lts.live WHERE group_id IN (SELECT group_id FROM lts.node_group WHERE part = $1) AND state = ${state} GROUP BY group_id`;
}

/** Counts what waits and is ready: it is read once, by the partition's new owner. */
export async function load(query: RunStatement, partition: number): Promise<LoadedPartition> {
  const { rows } = await query<GroupData>(groupsText, [partition]);
  if (rows.length === 0) return { groups: [], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } };
  const groups = rows.map(({ nodeGroup, waiting, ready, nextDueAt: _nextDueAt, ...limits }) => ({ nodeGroup, waiting, ready, limits: limitsOf(limits) }));
  return { groups, executing: await readExecuting(query, partition, -1, null), nextDueAt: timeOf(rows[0]?.nextDueAt), schedules: await loadSchedules(query, partition) };
}

function limitsOf({ backlog, maxRunning, startsPerSecond }: LimitColumns): GroupLimits | undefined {
  if (backlog === null && maxRunning === null && startsPerSecond === null) return undefined;
  return { backlog: backlog ?? undefined, maxRunning: maxRunning ?? undefined, startsPerSecond: startsPerSecond ?? undefined };
}
