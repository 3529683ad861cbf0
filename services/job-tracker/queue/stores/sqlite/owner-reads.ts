import type { Statement } from 'better-sqlite3';
import { idFromBytes } from '../../../../../shared/ids.js';
import type { ExecutingRow, GroupCounts, GroupLimits, LoadedPartition, ReadyKey, ReadyRow } from '../../queue-store.js';
import { taskIdOf } from '../../task-key.js';
import { policyOf } from '../policy-text.js';
import { smallJobBytes } from '../small-jobs.js';
import { OwnerScheduleReads } from './owner-schedule-reads.js';
import type { WriterState } from './writer-state.js';

interface ReadyData {
  seq: number;
  id: Buffer;
  type: string;
  priority: number;
  dueAt: number;
  scheduledAt: number;
  attempts: number;
  retryTimes: number;
  lostTimes: number;
  policy: string | null;
  taskId: string;
  clientId: number;
  job: Buffer | null;
}

interface ExecutingData extends Omit<ExecutingRow, 'id' | 'policy' | 'worker' | 'cancelling'> {
  id: Buffer;
  policy: string | null;
  nodeId: string | null;
  incarnation: string | null;
  cancelling: number;
}

interface GroupData extends LimitColumns {
  groupId: number;
  name: string;
}

type LimitColumns = { [name in keyof Required<GroupLimits>]: number | null };

const readySelect = `SELECT r.seq, i.id, i.type, r.priority, r.due_at AS dueAt, i.due_at AS scheduledAt, r.attempts, r.retry_times AS retryTimes, r.lost_times AS lostTimes,
    i.policy, i.task_id AS taskId, coalesce(i.client_id, 0) AS clientId,
    CASE WHEN length(i.job) <= ${smallJobBytes} THEN i.job END AS job
  FROM ready r CROSS JOIN instance i ON i.seq = r.seq WHERE r.group_id = ?`;

/** What an owner reads in the order of its commits. */
export class OwnerReads {
  readonly schedules: OwnerScheduleReads;
  readonly #w: WriterState;
  readonly #first: Statement<[number, number], ReadyData>;
  readonly #after: Statement<[number, number, number, number, number], ReadyData>;
  readonly #executing: Statement<[number, number, number], ExecutingData>;
  readonly #countWaiting: Statement<[number, number, number], { seen: number; rows: number }>;
  readonly #countReady: Statement<[number, number], number>;
  readonly #countBlocked: Statement<[number, number], number>;
  readonly #part: Statement<[number], number>;
  readonly #counts: Record<'ready' | 'waiting' | 'blocked', Statement<[number], { groupId: number; rows: number }>>;
  readonly #groups: Statement<[number], GroupData>;

  constructor(w: WriterState) {
    this.#w = w;
    this.schedules = new OwnerScheduleReads(w);
    const { db } = w;
    const order = 'ORDER BY r.priority, r.due_at, r.seq LIMIT ?';
    this.#first = db.prepare(`${readySelect} ${order}`);
    this.#after = db.prepare(`${readySelect} AND (r.priority, r.due_at, r.seq) > (?, ?, ?) ${order}`);
    this.#executing = db.prepare(
      `SELECT x.seq, i.id, g.name AS nodeGroup, i.task_id AS taskId, i.type, i.priority, coalesce(t.due_at, i.due_at) AS dueAt, i.due_at AS scheduledAt, x.attempt, x.fence,
         k.node_id AS nodeId, k.incarnation, x.assigned_at AS assignedAt, x.cancelling, x.retry_times AS retryTimes, x.lost_times AS lostTimes, i.policy
       FROM executing x CROSS JOIN instance i ON i.seq = x.seq JOIN node_group g ON g.group_id = i.group_id
       LEFT JOIN task t ON t.group_id = i.group_id AND t.task_id = i.task_id LEFT JOIN worker k ON k.worker_id = x.worker_id
       WHERE x.seq > ? AND g.part = ? ORDER BY x.seq LIMIT ?`,
    );
    this.#countWaiting = db.prepare('SELECT count(*) AS seen, count(*) FILTER (WHERE group_id = ?) AS rows FROM (SELECT group_id FROM waiting WHERE part = ? LIMIT ?)');
    this.#countReady = db.prepare<[number, number], number>('SELECT count(*) FROM (SELECT 1 FROM ready WHERE group_id = ? LIMIT ?)').pluck();
    this.#countBlocked = db.prepare<[number, number], number>('SELECT count(*) FROM (SELECT 1 FROM task WHERE group_id = ? AND next_seq IS NOT NULL LIMIT ?)').pluck();
    this.#part = db.prepare<[number], number>('SELECT part FROM node_group WHERE group_id = ?').pluck();
    this.#groups = db.prepare(
      `SELECT group_id AS groupId, name, backlog, max_running AS maxRunning, starts_per_second AS startsPerSecond
       FROM node_group WHERE part = ? ORDER BY name`,
    );
    this.#counts = {
      ready: db.prepare('SELECT group_id AS groupId, count(*) AS rows FROM ready WHERE group_id IN (SELECT group_id FROM node_group WHERE part = ?) GROUP BY group_id'),
      waiting: db.prepare('SELECT group_id AS groupId, count(*) AS rows FROM waiting WHERE part = ? GROUP BY group_id'),
      blocked: db.prepare(
        'SELECT group_id AS groupId, count(*) AS rows FROM task WHERE next_seq IS NOT NULL AND group_id IN (SELECT group_id FROM node_group WHERE part = ?) GROUP BY group_id',
      ),
    };
  }

  readReady(nodeGroup: string, after: ReadyKey | undefined, limit: number): ReadyRow[] {
    const groupId = this.#w.names.knownGroup(nodeGroup);
    if (groupId === undefined) return [];
    const rows =
      after === undefined ? this.#first.all(groupId, limit) : this.#after.all(groupId, after.priority, after.dueAt, after.seq, limit);
    return rows.map((row) => ({
      id: idFromBytes(row.id),
      seq: row.seq,
      taskId: taskIdOf(row.taskId),
      type: row.type,
      priority: row.priority,
      dueAt: row.dueAt,
      scheduledAt: row.scheduledAt,
      attempts: row.attempts,
      retryTimes: row.retryTimes,
      lostTimes: row.lostTimes,
      policy: policyOf(row.policy),
      job: row.job ?? undefined,
    }));
  }

  readExecuting(partition: number, afterSeq: number, limit: number): ExecutingRow[] {
    return this.#executing.all(afterSeq, partition, limit).map(executingRow);
  }

  recount(nodeGroup: string, most: number): GroupCounts {
    const groupId = this.#w.names.knownGroup(nodeGroup);
    if (groupId === undefined) return { waiting: 0, ready: 0 };
    const timed = this.#countWaiting.get(groupId, this.#part.get(groupId) ?? 0, most + 1) ?? { seen: 0, rows: 0 };
    const blocked = this.#countBlocked.get(groupId, most + 1) ?? 0;
    const ready = this.#countReady.get(groupId, most + 1) ?? 0;
    return { waiting: timed.seen > most || blocked > most ? undefined : timed.rows + blocked, ready: ready > most ? undefined : ready };
  }

  nextDue(partition: number): number | undefined {
    return this.#w.sql.nextDue.get(partition);
  }

  load(partition: number): LoadedPartition {
    const count = (what: 'ready' | 'waiting' | 'blocked') => new Map(this.#counts[what].all(partition).map((row) => [row.groupId, row.rows]));
    const [ready, waiting, blocked] = [count('ready'), count('waiting'), count('blocked')];
    const groups = this.#groups.all(partition).map(({ groupId, name, ...limits }) => ({
      nodeGroup: name,
      waiting: (waiting.get(groupId) ?? 0) + (blocked.get(groupId) ?? 0),
      ready: ready.get(groupId) ?? 0,
      limits: limitsOf(limits),
    }));
    return { groups, executing: this.#executing.all(-1, partition, -1).map(executingRow), nextDueAt: this.nextDue(partition), schedules: this.schedules.load(partition) };
  }
}

function limitsOf({ backlog, maxRunning, startsPerSecond }: LimitColumns): GroupLimits | undefined {
  if (backlog === null && maxRunning === null && startsPerSecond === null) return undefined;
  return { backlog: backlog ?? undefined, maxRunning: maxRunning ?? undefined, startsPerSecond: startsPerSecond ?? undefined };
}

function executingRow(row: ExecutingData): ExecutingRow {
  const { id, policy, nodeId, incarnation, cancelling, ...rest } = row;
  return {
    ...rest,
    id: idFromBytes(id),
    taskId: taskIdOf(row.taskId),
    worker: { nodeId: nodeId ?? '', incarnation: incarnation ?? '' },
    cancelling: cancelling === 1,
    policy: policyOf(policy),
  };
}
