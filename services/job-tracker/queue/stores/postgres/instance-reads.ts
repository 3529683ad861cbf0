import type { AttemptRow, InstanceFilter, InstanceRow, InstanceTarget } from '../../status-queries.js';
import { isRunKey, taskIdOf } from '../../task-key.js';
import { outcomeOf, stateCodes, stateOf } from '../codes.js';
import { page } from '../page.js';
import type { RunStatement } from './ordered-calls.js';
import { byteLimited } from './page-bytes.js';

/** Instances that one page of a list looks at. */
const scanRows = 5_000;
/** Instances that one step of the search for a task's last one looks at, and how many steps there are. */
const searchRows = 50_000;
const searchSteps = 40;

interface InstanceData extends Omit<InstanceRow, 'state' | 'blocked' | 'worker' | 'message' | 'job'> {
  state: number;
  worker: string | null;
  message: string | null;
  job: Buffer | null;
}

interface AttemptData extends Omit<AttemptRow, 'outcome' | 'lateOutcome'> {
  outcome: number | null;
  lateOutcome: number | null;
}

const columns = `i.seq, i.id, g.name AS "nodeGroup", i.task_id AS "taskId", i.type, i.priority, i.created_at AS "createdAt",
  coalesce(l.due_at, i.due_at) AS "dueAt", i.due_at AS "scheduledAt", coalesce(e.ended_at, 0) AS "endedAt", coalesce(e.state, l.state, 0) AS state,
  coalesce(e.attempts, l.attempts, 0) AS attempts, coalesce(e.retry_times, l.retry_times, 0) AS "retryTimes",
  coalesce(e.lost_times, l.lost_times, 0) AS "lostTimes", k.node_id AS worker,
  coalesce(e.message, (SELECT a.message FROM lts.attempt a WHERE a.id = i.id ORDER BY a.attempt DESC LIMIT 1)) AS message`;

/** OFFSET 0 leaves the planner only the look-up by key, whatever the statistics say. */
const joins = `JOIN lts.node_group g USING (group_id)
  LEFT JOIN LATERAL (SELECT * FROM lts.ended WHERE id = i.id OFFSET 0) e ON true
  LEFT JOIN LATERAL (SELECT * FROM lts.live WHERE seq = i.seq OFFSET 0) l ON true
  LEFT JOIN lts.worker k ON k.worker_id = l.worker_id AND l.state >= ${stateCodes.EXECUTING}`;

/** Rows with a higher answer are ids of ignored duplicates and of schedules that are past: no instances. */
const isInstance = 'i.answer < 2';

const oneSelect = `SELECT ${columns}, i.job FROM lts.instance i ${joins} WHERE ${isInstance} AND i.id =`;

/** Whether an instance is of a task: under its name, or a run of its schedule. */
const ofTask = (key: string, task: string): string =>
  `(${key} = ${task} OR (${key} >= '#' || ${task} || '#' AND ${key} < '#' || ${task} || '$') OR (${key} >= '$' || ${task} || '#' AND ${key} < '$' || ${task} || '$'))`;

const groupOf = '(SELECT group_id FROM lts.node_group WHERE name = $1)';

/** The newest live one of a task. */
const liveSelect = `SELECT l.id FROM (
    SELECT id, seq FROM lts.live WHERE group_id = ${groupOf} AND task_id = $2 AND state = 0
    UNION ALL SELECT id, seq FROM lts.live WHERE group_id = ${groupOf} AND task_id = $2 AND state > 0
    UNION ALL SELECT id, seq FROM lts.runs_of(${groupOf}, $2)) l ORDER BY l.seq DESC LIMIT 1`;

const searchSelect = `WITH f AS (SELECT seq FROM lts.instance WHERE seq < $3 ORDER BY seq DESC OFFSET ${searchRows - 1} LIMIT 1)
  SELECT (SELECT seq FROM f) AS "nextBefore",
    (SELECT i.id FROM lts.instance i WHERE i.seq >= coalesce((SELECT seq FROM f), 0) AND i.seq < $3 AND ${ofTask('i.task_id', '$2::text')} AND ${isInstance}
       AND i.group_id = ${groupOf} ORDER BY i.seq DESC LIMIT 1) AS id`;

/** A blocked one is stored as 0 and shown as waiting. */
const pageSelect = byteLimited(
  `SELECT ${columns}, NULL::bytea AS job FROM lts.instance i ${joins}
   WHERE i.seq >= $1 AND i.seq < $2 AND ${isInstance} AND ($3 = '' OR g.name = $3) AND ($4 = '' OR ${ofTask('i.task_id', '$4::text')})
     AND ($5::int[] = '{}' OR coalesce(e.state, nullif(l.state, 0), ${stateCodes.WAITING}) = ANY ($5::int[]))
   ORDER BY i.seq DESC LIMIT $6`,
  'message',
  'seq DESC',
);

const attemptColumns = `coalesce(k.node_id, '') AS worker, coalesce(k.incarnation, '') AS incarnation, a.fence, a.assigned_at AS "assignedAt"`;
const late = `a.late_outcome AS "lateOutcome", coalesce(a.late_message, '') AS "lateMessage"`;

const attemptSelect = `SELECT a.attempt, ${attemptColumns}, a.started_at AS "startedAt", a.ended_at AS "endedAt", a.outcome, a.message, a.truncated, ${late}
    FROM lts.attempt a LEFT JOIN lts.worker k USING (worker_id) WHERE a.id = $1
  UNION ALL SELECT a.attempts, ${attemptColumns}, a.started_at, a.ended_at, a.outcome, a.message, a.truncated, ${late}
    FROM lts.ended a LEFT JOIN lts.worker k USING (worker_id) WHERE a.id = $1 AND a.outcome IS NOT NULL
  UNION ALL SELECT a.attempts, ${attemptColumns}, 0, 0, NULL, '', false, NULL, ''
    FROM lts.live a LEFT JOIN lts.worker k USING (worker_id)
    WHERE a.seq = (SELECT seq FROM lts.instance WHERE id = $1) AND a.state >= ${stateCodes.EXECUTING}
  ORDER BY 1`;

/** Reads of instances and their attempts. Each is one statement, and so sees one moment. */
export class InstanceReads {
  readonly #read: RunStatement;

  constructor(read: RunStatement) {
    this.#read = read;
  }

  async find(target: InstanceTarget): Promise<InstanceRow | undefined> {
    if ('id' in target) return this.#one('$1', [target.id]);
    const { nodeGroup, taskId } = target;
    const { rows } = await this.#read<{ id: string }>(liveSelect, [nodeGroup, taskId]);
    if (rows[0] !== undefined) return this.#one('$1', [rows[0].id]);
    let before: number | null = Number.MAX_SAFE_INTEGER;
    for (let step = 0; step < searchSteps && before !== null; step++) {
      const found: { id: string | null; nextBefore: number | null } = await this.#search(nodeGroup, taskId, before);
      if (found.id !== null) return this.#one('$1', [found.id]);
      before = found.nextBefore;
    }
    return undefined;
  }

  async list({ nodeGroup, taskId, states, before = Number.MAX_SAFE_INTEGER, limit }: InstanceFilter): Promise<{ rows: InstanceRow[]; nextBefore: number | undefined }> {
    const { rows: ends } = await this.#read<{ seq: number }>(`SELECT seq FROM lts.instance WHERE seq < $1 ORDER BY seq DESC OFFSET ${scanRows - 1} LIMIT 1`, [before]);
    const from = ends[0]?.seq;
    const codes = states.map((state) => stateCodes[state]);
    const { rows: found } = await this.#read<InstanceData>(pageSelect, [from ?? 0, before, nodeGroup, taskId, codes, limit]);
    const { rows, full } = page(found, limit, ({ message }) => message);
    return { rows: rows.map(instanceRow), nextBefore: full ? rows.at(-1)?.seq : from };
  }

  async attempts(id: string): Promise<AttemptRow[]> {
    const { rows } = await this.#read<AttemptData>(attemptSelect, [id]);
    return rows.map((row) => ({ ...row, outcome: outcomeOf(row.outcome), lateOutcome: outcomeOf(row.lateOutcome) }));
  }

  async #search(nodeGroup: string, taskId: string, before: number): Promise<{ id: string | null; nextBefore: number | null }> {
    const { rows } = await this.#read<{ id: string | null; nextBefore: number | null }>(searchSelect, [nodeGroup, taskId, before]);
    return rows[0] ?? { id: null, nextBefore: null };
  }

  async #one(id: string, values: unknown[]): Promise<InstanceRow | undefined> {
    const { rows } = await this.#read<InstanceData>(`${oneSelect} ${id}`, values);
    return rows[0] === undefined ? undefined : instanceRow(rows[0]);
  }
}

function instanceRow({ state, ...row }: InstanceData): InstanceRow {
  return {
    ...row,
    taskId: taskIdOf(row.taskId),
    scheduledAt: isRunKey(row.taskId) ? row.scheduledAt : 0,
    state: stateOf(state === 0 ? stateCodes.WAITING : state),
    blocked: state === 0,
    worker: row.worker ?? '',
    message: row.message ?? '',
    job: row.job ?? undefined,
  };
}
