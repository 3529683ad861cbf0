import { type GuardedRun, heldUntil, type LeftRuns, type LoadedSchedules, type PastSchedule, type ScheduleKey, type ScheduleQueries, type ScheduleRow } from '../../queue-store.js';
import { leftBy, stateCodes as instanceStates } from '../codes.js';
import { freeRunKeys } from '../../task-key.js';
import { policyOf } from '../policy-text.js';
import { searchPast } from '../search-past.js';
import { smallJobBytes } from '../small-jobs.js';
import type { RunStatement } from './ordered-calls.js';

/*
 * Reads of schedules. Rows are found by an index of theirs; what else is known of each is looked up behind OFFSET 0.
 */

interface ScheduleData extends Omit<ScheduleRow, 'policy' | 'state' | 'nextAt' | 'lastAt' | 'job'> {
  policy: string | null;
  state: number;
  nextAt: number | null;
  lastAt: number | null;
  job: Buffer | null;
}

type GuardedData = Omit<GuardedRun, 'stands'> & { state: number };

const stateNames = { 1: 'ACTIVE', 2: 'SUSPENDED' } as const;
const stateCodes = { ACTIVE: 1, SUSPENDED: 2 } as const;

const columns = `s.sched, s.version, s.id, g.name AS "nodeGroup", s.task_id AS "taskId", s.type, s.priority, s.needs_feedback AS "needFeedback",
  coalesce((SELECT name FROM lts.client_group WHERE client_id = s.client_id), '') AS "submitNodeGroup", s.policy, s.plan, s.state, n.next_at AS "nextAt", n.fires,
  n.last_at AS "lastAt", s.created_at AS "createdAt", s.updated_at AS "updatedAt"`;
const smallJob = `CASE WHEN octet_length(s.job) <= ${smallJobBytes} THEN s.job END AS job`;

const scheduleOf = 'LATERAL (SELECT * FROM lts.schedule WHERE sched = n.sched OFFSET 0) s';
const nextOf = 'LATERAL (SELECT * FROM lts.schedule_next WHERE sched = s.sched OFFSET 0) n';
const groupOf = 'LATERAL (SELECT name FROM lts.node_group WHERE group_id = s.group_id OFFSET 0) g';

/** Of a partition, from one next time to another. */
const dueText = `SELECT ${columns}, ${smallJob}
  FROM (SELECT * FROM lts.schedule_next WHERE part = $1 AND (next_at, sched) > ($2, $3) AND next_at <= $4 ORDER BY next_at, sched LIMIT $5) n, ${scheduleOf}, ${groupOf}
  ORDER BY n.next_at, n.sched`;

const oneText = (job: string): string => `SELECT ${columns}, ${job}
  FROM (SELECT * FROM lts.schedule WHERE group_id = (SELECT group_id FROM lts.node_group WHERE name = $1) AND task_id = $2) s, ${nextOf}, ${groupOf}`;

/** A page of each group from the first one on, until there are enough. */
const listText = (where: string): string => `SELECT ${columns}, NULL::bytea AS job
  FROM (SELECT p.* FROM lts.node_group o, LATERAL (
      SELECT * FROM lts.schedule WHERE group_id = o.group_id AND (o.name > $2 OR task_id > $3) ${where} ORDER BY group_id, task_id LIMIT $4) p
    WHERE o.name >= $2 AND ($1 = '' OR o.name = $1) ORDER BY o.name, p.task_id LIMIT $4) s, ${nextOf}, ${groupOf}
  ORDER BY g.name, s.task_id`;

const guardedText = `SELECT l.seq, l.id, g.name AS "nodeGroup", l.task_id AS "taskKey", l.state, l.due_at AS "dueAt"
  FROM lts.node_group g, LATERAL (SELECT * FROM lts.live WHERE group_id = g.group_id AND task_id >= '#' AND task_id < '$' AND state > 0 OFFSET 0) l
  WHERE g.part = $1 ORDER BY l.seq`;

/** Rows that one step of the search for a past schedule looks at. */
const stepRows = 50_000;

/** For a scheduled time, not by hand: see task-key.ts. */
const isScheduled = `(i.task_id >= '#' || $2::text || '#' AND i.task_id < '#' || $2::text || '#m' OR i.task_id >= '$' || $2::text || '#' AND i.task_id < '$' || $2::text || '#m')
  AND i.answer < 2`;
const ranAtAll = `NOT EXISTS (SELECT 1 FROM lts.ended WHERE id = i.id AND state IN (${instanceStates.MISSED}, ${instanceStates.DISCARDED}))`;

/** Between two arrivals, from the newest one down. */
const pastOf = (column: string, where: string): string => `(SELECT i.${column} FROM lts.instance i
    WHERE i.seq >= coalesce((SELECT seq FROM f), 0) AND i.seq < $3 AND i.group_id = (SELECT group_id FROM lts.node_group WHERE name = $1) AND ${where} ORDER BY i.seq DESC LIMIT 1)`;

const pastText = `WITH f AS (SELECT seq FROM lts.instance WHERE seq < $3 ORDER BY seq DESC OFFSET ${stepRows - 1} LIMIT 1),
    s AS (SELECT ${pastOf('id', 'i.task_id = $2::text AND i.answer IN (3, 4)')} AS id)
  SELECT (SELECT seq FROM f) AS "nextBefore", s.id, (SELECT ended_at FROM lts.ended WHERE id = s.id) AS "endedAt", (SELECT job FROM lts.instance WHERE id = s.id) AS job,
    ${pastOf('due_at', `${isScheduled} AND ${ranAtAll}`)} AS "lastAt", ${pastOf('created_at', isScheduled)} AS "answeredAt" FROM s`;

interface PastData {
  nextBefore: number | null;
  id: string | null;
  endedAt: number | null;
  job: Buffer | null;
  lastAt: number | null;
  answeredAt: number | null;
}

const freeText = `SELECT l.seq, l.id, $1::text AS "nodeGroup", l.task_id AS "taskKey", l.state, l.due_at AS "dueAt"
  FROM (SELECT * FROM lts.live WHERE group_id = (SELECT group_id FROM lts.node_group WHERE name = $1::text) AND task_id >= $2 AND task_id < $3 AND state > 0
    ORDER BY group_id, task_id LIMIT $4) l`;

const leftText = `SELECT g.name AS "nodeGroup", l.task_id AS "taskId", l.change FROM lts.left_runs l JOIN lts.node_group g USING (group_id) WHERE l.part = $1 ORDER BY l.last_seq`;

const mostSafe = Number.MAX_SAFE_INTEGER;

export async function readSchedules(query: RunStatement, partition: number, after: ScheduleKey | undefined, until: number, limit: number): Promise<ScheduleRow[]> {
  const { nextAt, sched } = after ?? { nextAt: -mostSafe, sched: 0 };
  return scheduleRows(query, dueText, [partition, nextAt, sched, Math.min(until, heldUntil - 1), limit]);
}

export async function readSchedule(query: RunStatement, nodeGroup: string, taskId: string): Promise<ScheduleRow | undefined> {
  return (await scheduleRows(query, oneText(smallJob), [nodeGroup, taskId]))[0];
}

export async function findSchedule(query: RunStatement, nodeGroup: string, taskId: string): Promise<ScheduleRow | undefined> {
  return (await scheduleRows(query, oneText('s.job'), [nodeGroup, taskId]))[0];
}

export async function findPastSchedule(query: RunStatement, nodeGroup: string, taskId: string): Promise<PastSchedule | undefined> {
  const past = await searchPast(async (before) => {
    const { rows } = await query<PastData & Record<string, unknown>>(pastText, [nodeGroup, taskId, before]);
    const { nextBefore = null, id = null, endedAt = null, job = null, lastAt = null, answeredAt = null } = rows[0] ?? {};
    return {
      schedule: id === null || endedAt === null || job === null ? undefined : { id, endedAt, job },
      lastAt: lastAt ?? undefined, answeredAt: answeredAt ?? undefined, nextBefore: nextBefore ?? undefined,
    };
  });
  return past === undefined ? undefined : { ...past, nodeGroup, taskId };
}

export async function listSchedules(query: RunStatement, { nodeGroup, state, after, limit }: Parameters<ScheduleQueries['listSchedules']>[0]): Promise<ScheduleRow[]> {
  const where = state === undefined ? '' : `AND state = ${stateCodes[state]}`;
  return scheduleRows(query, listText(where), [nodeGroup, after?.nodeGroup ?? '', after?.taskId ?? '', limit]);
}

export function readFreeRuns(query: RunStatement, nodeGroup: string, taskId: string, limit: number): Promise<GuardedRun[]> {
  return guardedRuns(query, freeText, [nodeGroup, ...freeRunKeys(taskId), limit]);
}

async function guardedRuns(query: RunStatement, text: string, values: unknown[]): Promise<GuardedRun[]> {
  const { rows } = await query<GuardedData>(text, values);
  return rows.map(({ state, ...row }) => ({ ...row, stands: state !== 1 ? 'active' : row.dueAt === heldUntil ? 'held' : 'waiting' }));
}

export async function loadSchedules(query: RunStatement, partition: number): Promise<LoadedSchedules> {
  const guarded = await guardedRuns(query, guardedText, [partition]);
  const left = (await query<Omit<LeftRuns, 'by'> & { change: number }>(leftText, [partition])).rows.map(({ change, ...task }): LeftRuns => ({ ...task, by: leftBy(change) }));
  return { guarded, left, resting: await scheduleRows(query, dueText, [partition, heldUntil, 0, heldUntil, null]) };
}

async function scheduleRows(query: RunStatement, text: string, values: unknown[]): Promise<ScheduleRow[]> {
  const { rows } = await query<ScheduleData & Record<string, unknown>>(text, values);
  return rows.map(({ policy, state, nextAt, lastAt, job, ...row }) => ({
    ...row,
    policy: policyOf(policy),
    state: stateNames[state as 1 | 2],
    nextAt: nextAt === null || nextAt === heldUntil ? undefined : nextAt,
    lastAt: lastAt ?? undefined,
    job: job ?? undefined,
  }));
}
