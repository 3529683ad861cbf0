import type { Database, Statement } from 'better-sqlite3';
import type { ScheduleQueries, ScheduleRow } from '../../queue-store.js';
import { type ScheduleData, scheduleColumns, scheduleJoins, scheduleRow } from './schedule-rows.js';

export type ScheduleFilter = Parameters<ScheduleQueries['listSchedules']>[0];

interface ListValues {
  nodeGroup: string;
  active: number | null;
  afterGroup: string;
  afterTask: string;
  limit: number;
}

/** Reads of schedules for people. */
export class ScheduleReads {
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
  }

  list({ nodeGroup, state, after, limit }: ScheduleFilter): ScheduleRow[] {
    const active = state === undefined ? null : state === 'ACTIVE' ? 1 : 0;
    return this.#list.all({ nodeGroup, active, afterGroup: after?.nodeGroup ?? '', afterTask: after?.taskId ?? '', limit }).map(scheduleRow);
  }

  find(nodeGroup: string, taskId: string): ScheduleRow | undefined {
    const found = this.#find.get(nodeGroup, taskId);
    return found === undefined ? undefined : scheduleRow(found);
  }
}
