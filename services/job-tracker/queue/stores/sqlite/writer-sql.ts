import type { Database, Statement } from 'better-sqlite3';
import { heldUntil } from '../../queue-store.js';
import { smallJobBytes } from '../small-jobs.js';

/** The ready row of an instance by its key: group, priority, due time, seq. */
const readyKey = 'group_id = ? AND priority = ? AND due_at = ? AND seq = ?';

/** The statements of transitions, prepared once per connection. Positional values, in the order of the text. */
export function prepareWriterSql(db: Database): WriterSql {
  const run = (text: string): Statement<unknown[]> => db.prepare(text);
  return {
    epoch: db.prepare<[number], number>('SELECT epoch FROM ownership WHERE part = ?').pluck(),
    counters: db.prepare<[], { lastSeq: number; lastOwed: number }>('SELECT last_seq AS lastSeq, last_owed AS lastOwed FROM counter'),
    setCounters: run('UPDATE counter SET last_seq = ?, last_owed = ?'),

    addInstance: run(
      `INSERT INTO instance (seq, id, group_id, task_id, type, priority, due_at, created_at, client_id, policy, answer, job)
       VALUES (?, unhex(?, '-'), ?, ?, ?, ?, ?, ?, ?, ?, 0, ?) ON CONFLICT (id) DO NOTHING`,
    ),
    instanceById: db.prepare<[string], InstanceById>(
      "SELECT seq, group_id AS groupId, answer, related_id AS related, job FROM instance WHERE id = unhex(?, '-')",
    ),
    seqById: db.prepare<[string], { seq: number; groupId: number; clientId: number | null }>(
      "SELECT seq, group_id AS groupId, client_id AS clientId FROM instance WHERE id = unhex(?, '-')",
    ),
    answered: run('UPDATE instance SET answer = ?, related_id = ? WHERE seq = ?'),
    removeInstance: run('DELETE FROM instance WHERE seq = ?'),
    idOf: db.prepare<[number], Buffer>('SELECT id FROM instance WHERE seq = ?').pluck(),
    scheduledAt: db.prepare<[number], number>('SELECT due_at FROM instance WHERE seq = ?').pluck(),
    job: db.prepare<[number], Buffer>('SELECT job FROM instance WHERE seq = ?').pluck(),
    facts: db.prepare<[number], FactsRow>(
      `SELECT g.part AS partition, i.group_id AS groupId, i.task_id AS taskId, i.priority, coalesce(i.client_id, 0) AS clientId,
              coalesce(t.due_at, i.due_at) AS dueAt
       FROM instance i JOIN node_group g USING (group_id)
       LEFT JOIN task t ON t.group_id = i.group_id AND t.task_id = i.task_id AND t.seq = i.seq
       WHERE i.seq = ?`,
    ),
    runData: db.prepare<[number], RunData>(
      `SELECT id, type, policy, due_at AS scheduledAt, CASE WHEN length(job) <= ${smallJobBytes} THEN job END AS job FROM instance WHERE seq = ?`,
    ),

    addTask: run('INSERT INTO task (group_id, task_id, seq, due_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'),
    task: db.prepare<[number, string], TaskRow>(
      'SELECT seq, due_at AS dueAt, next_seq AS nextSeq FROM task WHERE group_id = ? AND task_id = ?',
    ),
    setNext: run('UPDATE task SET next_seq = ? WHERE group_id = ? AND task_id = ?'),
    setCurrent: run('UPDATE task SET seq = ?, due_at = ?, next_seq = ? WHERE group_id = ? AND task_id = ?'),
    endTask: run('DELETE FROM task WHERE group_id = ? AND task_id = ? AND next_seq IS NULL'),

    addReady: run('INSERT INTO ready (group_id, priority, due_at, seq, attempts, retry_times, lost_times) VALUES (?, ?, ?, ?, ?, ?, ?)'),
    removeReady: run(`DELETE FROM ready WHERE ${readyKey}`),
    readyCounts: db.prepare<[number, number, number, number], Counts>(
      `SELECT attempts, retry_times AS retryTimes, lost_times AS lostTimes FROM ready WHERE ${readyKey}`,
    ),
    addWaiting: run('INSERT INTO waiting (part, due_at, seq, group_id, attempts, retry_times, lost_times) VALUES (?, ?, ?, ?, ?, ?, ?)'),
    removeWaiting: run('DELETE FROM waiting WHERE part = ? AND due_at = ? AND seq = ?'),
    waitingCounts: db.prepare<[number, number, number], Counts>(
      'SELECT attempts, retry_times AS retryTimes, lost_times AS lostTimes FROM waiting WHERE part = ? AND due_at = ? AND seq = ?',
    ),
    dueRows: db.prepare<[number, number, number], DueRow>(
      `SELECT due_at AS dueAt, seq, group_id AS groupId, attempts, retry_times AS retryTimes, lost_times AS lostTimes
       FROM waiting WHERE part = ? AND due_at <= ? ORDER BY due_at, seq LIMIT ?`,
    ),
    nextDue: db.prepare<[number], number>(`SELECT due_at FROM waiting WHERE part = ? AND due_at < ${heldUntil} ORDER BY due_at LIMIT 1`).pluck(),

    addExecuting: run(
      `INSERT INTO executing (seq, attempt, fence, worker_id, assigned_at, cancelling, retry_times, lost_times)
       VALUES (?, 1, ?, ?, ?, 0, 0, 0)`,
    ),
    execute: run(
      `INSERT INTO executing (seq, attempt, fence, worker_id, assigned_at, cancelling, retry_times, lost_times)
       SELECT seq, attempts + 1, ?, ?, ?, 0, retry_times, lost_times FROM ready WHERE ${readyKey} AND attempts = ?`,
    ),
    executing: db.prepare<[number], { attempt: number }>('SELECT attempt FROM executing WHERE seq = ?'),
    reassign: run('UPDATE executing SET worker_id = ?, assigned_at = ? WHERE seq = ? AND attempt = ?'),
    setCancelling: run('UPDATE executing SET cancelling = 1 WHERE seq = ?'),
    removeExecuting: run('DELETE FROM executing WHERE seq = ?'),

    endAttempt: run(
      `INSERT INTO attempt (seq, attempt, fence, worker_id, assigned_at, started_at, ended_at, outcome, message, truncated)
       SELECT seq, attempt, fence, worker_id, assigned_at, ?, ?, ?, ?, ? FROM executing WHERE seq = ? AND attempt = ? AND cancelling = 0`,
    ),
    endRun: run(
      `INSERT INTO ended (seq, state, ended_at, attempts, retry_times, lost_times, message, owed, fence, worker_id, assigned_at, started_at, outcome, truncated)
       SELECT seq, ?, ?, attempt, retry_times, lost_times + ?, ?, ?, fence, worker_id, assigned_at, ?, ?, ? FROM executing WHERE seq = ? AND attempt = ?`,
    ),
    endWaiting: run('INSERT INTO ended (seq, state, ended_at, attempts, retry_times, lost_times, message, owed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)'),
    endedState: db.prepare<[number], number>('SELECT state FROM ended WHERE seq = ?').pluck(),
    owe: run("INSERT INTO feedback (client_id, dead, owed, seq, deliveries, next_at, last_error) VALUES (?, 0, ?, ?, 0, 0, '')"),

    setLimits: run('UPDATE node_group SET backlog = ?, max_running = ?, starts_per_second = ? WHERE group_id = ?'),

    lateOnAttempt: run(
      `UPDATE attempt SET late_outcome = @outcome, late_message = @message
       WHERE seq = @seq AND attempt = @attempt AND late_outcome IS NULL AND outcome <> @outcome`,
    ),
    lateOnEnd: run(
      `UPDATE ended SET late_outcome = @outcome, late_message = @message
       WHERE seq = @seq AND attempts = @attempt AND worker_id IS NOT NULL AND late_outcome IS NULL AND outcome <> @outcome`,
    ),
    knowsAttempt: db.prepare<[{ seq: number; attempt: number }], number>(
      `SELECT EXISTS (SELECT 1 FROM attempt WHERE seq = @seq AND attempt = @attempt)
           OR EXISTS (SELECT 1 FROM ended WHERE seq = @seq AND attempts = @attempt AND worker_id IS NOT NULL)
           OR EXISTS (SELECT 1 FROM executing WHERE seq = @seq AND attempt = @attempt)`,
    ).pluck(),
  };
}


/** The prepared statements of transitions. */
export interface WriterSql extends Record<RunName, Statement<unknown[]>> {
  epoch: Statement<[number], number>;
  counters: Statement<[], { lastSeq: number; lastOwed: number }>;
  instanceById: Statement<[string], InstanceById>;
  seqById: Statement<[string], { seq: number; groupId: number; clientId: number | null }>;
  idOf: Statement<[number], Buffer>;
  scheduledAt: Statement<[number], number>;
  job: Statement<[number], Buffer>;
  facts: Statement<[number], FactsRow>;
  runData: Statement<[number], RunData>;
  task: Statement<[number, string], TaskRow>;
  readyCounts: Statement<[number, number, number, number], Counts>;
  waitingCounts: Statement<[number, number, number], Counts>;
  dueRows: Statement<[number, number, number], DueRow>;
  nextDue: Statement<[number], number>;
  executing: Statement<[number], { attempt: number }>;
  endedState: Statement<[number], number>;
  knowsAttempt: Statement<[{ seq: number; attempt: number }], number>;
}

type RunName =
  | 'setCounters'
  | 'addInstance'
  | 'answered'
  | 'removeInstance'
  | 'addTask'
  | 'setNext'
  | 'setCurrent'
  | 'endTask'
  | 'addReady'
  | 'removeReady'
  | 'addWaiting'
  | 'removeWaiting'
  | 'addExecuting'
  | 'execute'
  | 'reassign'
  | 'setCancelling'
  | 'removeExecuting'
  | 'endAttempt'
  | 'endRun'
  | 'endWaiting'
  | 'owe'
  | 'setLimits'
  | 'lateOnAttempt'
  | 'lateOnEnd';

interface InstanceById {
  seq: number;
  groupId: number;
  answer: number;
  related: Buffer | null;
  job: Buffer;
}

interface FactsRow {
  partition: number;
  groupId: number;
  taskId: string;
  priority: number;
  clientId: number;
  dueAt: number;
}

interface RunData {
  id: Buffer;
  type: string;
  policy: string | null;
  scheduledAt: number;
  job: Buffer | null;
}

/** The current and the next instance of a task. */
export interface TaskRow {
  seq: number;
  dueAt: number;
  nextSeq: number | null;
}

/** What a queued instance has behind it. */
export interface Counts {
  attempts: number;
  retryTimes: number;
  lostTimes: number;
}

interface DueRow extends Counts {
  dueAt: number;
  seq: number;
  groupId: number;
}
