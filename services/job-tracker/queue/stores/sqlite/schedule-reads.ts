import type { Database, Statement } from 'better-sqlite3';
import { idFromBytes } from '../../../../../shared/ids.js';
import type { ScheduleQueries, ScheduleRow } from '../../queue-store.js';
import { stateCodes } from '../codes.js';
import type { PastStep } from '../search-past.js';
import { answers } from './known-ids.js';
import { type ScheduleData, scheduleColumns, scheduleJoins, scheduleRow } from './schedule-rows.js';

export type ScheduleFilter = Parameters<ScheduleQueries['listSchedules']>[0];

interface ListValues {
  nodeGroup: string;
  active: number | null;
  afterGroup: string;
  afterTask: string;
  limit: number;
}

interface StepValues {
  from: number;
  before: number;
  nodeGroup: string;
  taskId: string;
}

/** Instances that one step looks at. */
const stepRows = 50_000;

/** From the newest one down. */
const pastFrom = (where: string): string => `FROM instance i LEFT JOIN ended e ON e.seq = i.seq
  WHERE i.seq >= @from AND i.seq < @before AND i.group_id = (SELECT group_id FROM node_group WHERE name = @nodeGroup) AND ${where} ORDER BY i.seq DESC LIMIT 1`;

/** For a scheduled time, not by hand: see task-key.ts. */
const isScheduled = `(i.task_id >= '#' || @taskId || '#' AND i.task_id < '#' || @taskId || '#m' OR i.task_id >= '$' || @taskId || '#' AND i.task_id < '$' || @taskId || '#m')
  AND i.answer < ${answers.duplicate}`;

/** Reads of schedules for people. */
export class ScheduleReads {
  readonly #pastSchedule: Statement<[StepValues], { id: Buffer; endedAt: number; job: Buffer }>;
  readonly #lastAt: Statement<[StepValues], number>;
  readonly #answeredAt: Statement<[StepValues], number>;
  readonly #stepEnd: Statement<[number, number], number>;
  readonly #list: Statement<[ListValues], ScheduleData>;
  readonly #find: Statement<[string, string], ScheduleData>;

  constructor(db: Database) {
    // Groups in the order of their names, and in each its tasks along their index.
    const from = `FROM node_group g CROSS JOIN schedule s ON s.group_id = g.group_id ${scheduleJoins}`;
    this.#list = db.prepare(
      `SELECT ${scheduleColumns}, NULL AS job ${from}
       WHERE g.name >= @afterGroup AND (@nodeGroup = '' OR g.name = @nodeGroup) AND s.task_id > CASE WHEN g.name = @afterGroup THEN @afterTask ELSE '' END
         AND (@active IS NULL OR s.active = @active)
       ORDER BY g.name, s.task_id LIMIT @limit`,
    );
    this.#find = db.prepare(`SELECT ${scheduleColumns}, i.job ${from} WHERE g.name = ? AND s.task_id = ?`);
    const isPast = `i.task_id = @taskId AND i.answer IN (${answers.scheduleAccepted}, ${answers.scheduleReplaced}) AND e.seq IS NOT NULL`;
    this.#pastSchedule = db.prepare(`SELECT i.id, e.ended_at AS endedAt, i.job ${pastFrom(isPast)}`);
    this.#lastAt = db.prepare<[StepValues], number>(`SELECT i.due_at ${pastFrom(`${isScheduled} AND coalesce(e.state, 0) NOT IN (${stateCodes.MISSED}, ${stateCodes.DISCARDED})`)}`).pluck();
    this.#answeredAt = db.prepare<[StepValues], number>(`SELECT i.created_at ${pastFrom(isScheduled)}`).pluck();
    this.#stepEnd = db.prepare<[number, number], number>('SELECT seq FROM instance WHERE seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?').pluck();
  }

  list({ nodeGroup, state, after, limit }: ScheduleFilter): ScheduleRow[] {
    const active = state === undefined ? null : state === 'ACTIVE' ? 1 : 0;
    return this.#list.all({ nodeGroup, active, afterGroup: after?.nodeGroup ?? '', afterTask: after?.taskId ?? '', limit }).map(scheduleRow);
  }

  find(nodeGroup: string, taskId: string): ScheduleRow | undefined {
    const found = this.#find.get(nodeGroup, taskId);
    return found === undefined ? undefined : scheduleRow(found);
  }

  searchPast(nodeGroup: string, taskId: string, before: number): PastStep {
    const nextBefore = this.#stepEnd.get(before, stepRows - 1);
    const values = { from: nextBefore ?? 0, before, nodeGroup, taskId };
    const schedule = this.#pastSchedule.get(values);
    return { schedule: schedule === undefined ? undefined : { ...schedule, id: idFromBytes(schedule.id) }, lastAt: this.#lastAt.get(values), answeredAt: this.#answeredAt.get(values), nextBefore };
  }
}
