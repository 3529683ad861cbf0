import type { Database, Statement } from 'better-sqlite3';
import { idFromBytes } from '../../../../../shared/ids.js';
import type { AttemptRow, InstanceFilter, InstanceRow } from '../../status-queries.js';
import { outcomeOf, stateCodes, stateOf } from '../codes.js';
import { page } from '../page.js';
import { isRunKey, taskIdOf } from '../../task-key.js';
import { answers } from './known-ids.js';

/** Instances that one page of a list looks at. */
const scanRows = 5_000;
/** Instances that one step of the search for a task's last one looks at. */
const searchRows = 50_000;

interface InstanceData extends Omit<InstanceRow, 'id' | 'state' | 'blocked' | 'worker' | 'message' | 'job'> {
  id: Buffer;
  state: number;
  blocked: number;
  worker: string | null;
  message: string | null;
  job: Buffer | null;
}

interface AttemptData extends Omit<AttemptRow, 'outcome' | 'truncated' | 'lateOutcome'> {
  outcome: number | null;
  truncated: number;
  lateOutcome: number | null;
}

/** Where an instance stands follows from the table that names it: see the first migration. */
const stateColumn = `CASE WHEN e.seq IS NOT NULL THEN e.state WHEN x.seq IS NOT NULL THEN ${stateCodes.EXECUTING} + (x.cancelling = 1)
  WHEN r.seq IS NOT NULL THEN ${stateCodes.READY} ELSE ${stateCodes.WAITING} END`;

const columns = `i.seq, i.id, g.name AS nodeGroup, i.task_id AS taskId, i.type, i.priority, i.created_at AS createdAt,
  coalesce(t.due_at, i.due_at) AS dueAt, i.due_at AS scheduledAt, coalesce(e.ended_at, 0) AS endedAt, ${stateColumn} AS state,
  e.seq IS NULL AND t.seq IS NULL AS blocked,
  coalesce(e.attempts, x.attempt, r.attempts, w.attempts, 0) AS attempts,
  coalesce(e.retry_times, x.retry_times, r.retry_times, w.retry_times, 0) AS retryTimes,
  coalesce(e.lost_times, x.lost_times, r.lost_times, w.lost_times, 0) AS lostTimes,
  k.node_id AS worker,
  coalesce(e.message, (SELECT a.message FROM attempt a WHERE a.seq = i.seq ORDER BY a.attempt DESC LIMIT 1)) AS message`;

const joins = `JOIN node_group g ON g.group_id = i.group_id
  LEFT JOIN ended e ON e.seq = i.seq
  LEFT JOIN executing x ON x.seq = i.seq
  LEFT JOIN task t ON e.seq IS NULL AND t.group_id = i.group_id AND t.task_id = i.task_id AND t.seq = i.seq
  LEFT JOIN ready r ON r.group_id = i.group_id AND r.priority = i.priority AND r.due_at = t.due_at AND r.seq = i.seq
  LEFT JOIN waiting w ON w.part = g.part AND w.due_at = t.due_at AND w.seq = i.seq
  LEFT JOIN worker k ON k.worker_id = x.worker_id`;

/** Rows with a higher answer are ignored duplicates and schedules: no instances. */
const isInstance = `i.answer < ${answers.duplicate}`;

/** Of the task itself, or a run of its schedule: see task-key.ts. */
const isOfTask = `(i.task_id = @taskId OR (i.task_id >= '#' || @taskId || '#' AND i.task_id < '#' || @taskId || '$')
  OR (i.task_id >= '$' || @taskId || '#' AND i.task_id < '$' || @taskId || '$'))`;

const pageSelect = `SELECT ${columns}, NULL AS job FROM instance i ${joins}
  WHERE i.seq >= @from AND i.seq < @before AND ${isInstance} AND (@nodeGroup = '' OR g.name = @nodeGroup) AND (@taskId = '' OR ${isOfTask})
    AND (@states = '[]' OR ${stateColumn} IN (SELECT value FROM json_each(@states)))
  ORDER BY i.seq DESC LIMIT @limit`;

const attemptColumns = `coalesce(k.node_id, '') AS worker, coalesce(k.incarnation, '') AS incarnation, a.fence, a.assigned_at AS assignedAt`;

const attemptSelect = `SELECT a.attempt, ${attemptColumns}, a.started_at AS startedAt, a.ended_at AS endedAt, a.outcome, a.message, a.truncated,
      a.late_outcome AS lateOutcome, coalesce(a.late_message, '') AS lateMessage
    FROM attempt a LEFT JOIN worker k USING (worker_id) WHERE a.seq = @seq
  UNION ALL SELECT a.attempts, ${attemptColumns}, a.started_at, a.ended_at, a.outcome, a.message, a.truncated, a.late_outcome, coalesce(a.late_message, '')
    FROM ended a LEFT JOIN worker k USING (worker_id) WHERE a.seq = @seq AND a.worker_id IS NOT NULL
  UNION ALL SELECT a.attempt, ${attemptColumns}, 0, 0, NULL, '', 0, NULL, ''
    FROM executing a LEFT JOIN worker k USING (worker_id) WHERE a.seq = @seq
  ORDER BY 1`;

interface PageValues {
  from: number;
  before: number;
  nodeGroup: string;
  taskId: string;
  states: string;
  limit: number;
}

/** Reads of instances and their attempts. */
export class InstanceReads {
  readonly #byId: Statement<[string], InstanceData>;
  readonly #bySeq: Statement<[number], InstanceData>;
  readonly #liveTask: Statement<[{ nodeGroup: string; taskId: string }], number | null>;
  readonly #page: Statement<[PageValues], InstanceData>;
  readonly #scanEnd: Statement<[number, number], number>;
  readonly #search: Statement<[{ from: number; before: number; nodeGroup: string; taskId: string }], number>;
  readonly #attempts: Statement<[{ seq: number }], AttemptData>;
  readonly #seqById: Statement<[string], number>;

  constructor(db: Database) {
    this.#byId = db.prepare(`SELECT ${columns}, i.job FROM instance i ${joins} WHERE i.id = unhex(?, '-') AND ${isInstance}`);
    this.#bySeq = db.prepare(`SELECT ${columns}, i.job FROM instance i ${joins} WHERE i.seq = ?`);
    const live = (where: string) => `SELECT coalesce(next_seq, seq) AS live FROM node_group JOIN task USING (group_id) WHERE name = @nodeGroup AND ${where}`;
    const runs = (mark: string) => live(`task_id >= '${mark}' || @taskId || '#' AND task_id < '${mark}' || @taskId || '$'`);
    this.#liveTask = db
      .prepare<[{ nodeGroup: string; taskId: string }], number | null>(
        `SELECT max(live) FROM (${live('task_id = @taskId')} UNION ALL ${runs('#')} UNION ALL ${runs('$')})`,
      )
      .pluck();
    this.#page = db.prepare(pageSelect);
    this.#scanEnd = db.prepare<[number, number], number>('SELECT seq FROM instance WHERE seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?').pluck();
    this.#search = db
      .prepare<[{ from: number; before: number; nodeGroup: string; taskId: string }], number>(
        `SELECT i.seq FROM instance i WHERE i.seq >= @from AND i.seq < @before AND ${isOfTask} AND ${isInstance}
           AND i.group_id = (SELECT group_id FROM node_group WHERE name = @nodeGroup) ORDER BY i.seq DESC LIMIT 1`,
      )
      .pluck();
    this.#attempts = db.prepare(attemptSelect);
    this.#seqById = db.prepare<[string], number>("SELECT seq FROM instance WHERE id = unhex(?, '-')").pluck();
  }

  byId(id: string): InstanceRow | undefined {
    return instanceRow(this.#byId.get(id));
  }

  /** The newest one that lives. */
  liveOfTask(nodeGroup: string, taskId: string): InstanceRow | undefined {
    const seq = this.#liveTask.get({ nodeGroup, taskId });
    return seq === undefined || seq === null ? undefined : instanceRow(this.#bySeq.get(seq));
  }

  /** One step of the search for the newest one of a task, from the newest instance down; `nextBefore`: where the next step goes on. */
  searchTask(nodeGroup: string, taskId: string, before: number): { row: InstanceRow | undefined; nextBefore: number | undefined } {
    const from = this.#scanEnd.get(before, searchRows - 1);
    const seq = this.#search.get({ from: from ?? 0, before, nodeGroup, taskId });
    return { row: seq === undefined ? undefined : instanceRow(this.#bySeq.get(seq)), nextBefore: from };
  }

  list(filter: InstanceFilter): { rows: InstanceRow[]; nextBefore: number | undefined } {
    const before = filter.before ?? Number.MAX_SAFE_INTEGER;
    const from = this.#scanEnd.get(before, scanRows - 1);
    const states = JSON.stringify(filter.states.map((state) => stateCodes[state]));
    const { nodeGroup, taskId, limit } = filter;
    const { rows, full } = page(this.#page.iterate({ from: from ?? 0, before, nodeGroup, taskId, states, limit }), limit, ({ message }) => message);
    return { rows: rows.map((row) => instanceRow(row)), nextBefore: full ? rows.at(-1)?.seq : from };
  }

  attempts(id: string): AttemptRow[] {
    const seq = this.#seqById.get(id);
    if (seq === undefined) return [];
    return this.#attempts.all({ seq }).map((row) => ({
      ...row,
      outcome: outcomeOf(row.outcome),
      truncated: row.truncated === 1,
      lateOutcome: outcomeOf(row.lateOutcome),
    }));
  }
}

function instanceRow(row: InstanceData): InstanceRow;
function instanceRow(row: InstanceData | undefined): InstanceRow | undefined;
function instanceRow(row: InstanceData | undefined): InstanceRow | undefined {
  if (row === undefined) return undefined;
  return {
    ...row,
    id: idFromBytes(row.id),
    taskId: taskIdOf(row.taskId),
    scheduledAt: isRunKey(row.taskId) ? row.scheduledAt : 0,
    state: stateOf(row.state),
    blocked: row.blocked === 1,
    worker: row.worker ?? '',
    message: row.message ?? '',
    job: row.job ?? undefined,
  };
}
