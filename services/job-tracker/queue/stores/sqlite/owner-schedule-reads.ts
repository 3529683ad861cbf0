import type { Statement } from 'better-sqlite3';
import { idFromBytes } from '../../../../../shared/ids.js';
import { type GuardedRun, heldUntil, type LeftRuns, type LoadedSchedules, type ScheduleKey, type ScheduleRow } from '../../queue-store.js';
import { leftBy } from '../codes.js';
import { freeRunKeys } from '../../task-key.js';
import { smallJobBytes } from '../small-jobs.js';
import { type ScheduleData, scheduleColumns, scheduleJoins, scheduleRow } from './schedule-rows.js';
import type { WriterState } from './writer-state.js';

interface GuardedData {
  seq: number;
  id: Buffer;
  nodeGroup: string;
  taskKey: string;
  dueAt: number;
  queued: number;
}

const select = `SELECT ${scheduleColumns}, CASE WHEN length(i.job) <= ${smallJobBytes} THEN i.job END AS job
  FROM schedule s CROSS JOIN node_group g ON g.group_id = s.group_id ${scheduleJoins}`;

/** What an owner reads of schedules, in the order of its commits. */
export class OwnerScheduleReads {
  readonly #w: WriterState;
  readonly #due: Statement<[number, number, number, number, number], ScheduleData>;
  readonly #resting: Statement<[number], ScheduleData>;
  readonly #ofTask: Statement<[number, string], ScheduleData>;
  readonly #guarded: Statement<[number], GuardedData>;
  readonly #free: Statement<[number, string, string, number], GuardedData>;
  readonly #left: Statement<[number], { nodeGroup: string; taskId: string; change: number }>;

  constructor(w: WriterState) {
    this.#w = w;
    const { db } = w;
    this.#due = db.prepare(
      `${select} WHERE s.part = ? AND s.active = 1 AND (s.next_at, s.sched) > (?, ?) AND s.next_at <= ? ORDER BY s.next_at, s.sched LIMIT ?`,
    );
    this.#resting = db.prepare(`${select} WHERE s.part = ? AND s.active = 1 AND s.next_at IS NULL ORDER BY s.sched`);
    this.#ofTask = db.prepare(`${select} WHERE s.group_id = ? AND s.task_id = ?`);
    // Keys of guarded runs lie between # and $: see task-key.ts.
    this.#guarded = db.prepare(
      `SELECT t.seq, i.id, g.name AS nodeGroup, t.task_id AS taskKey, t.due_at AS dueAt, w.seq IS NOT NULL AS queued
       FROM node_group g CROSS JOIN task t ON t.group_id = g.group_id CROSS JOIN instance i ON i.seq = t.seq
       LEFT JOIN waiting w ON w.part = g.part AND w.due_at = t.due_at AND w.seq = t.seq
       WHERE g.part = ? AND t.task_id >= '#' AND t.task_id < '$' ORDER BY t.seq`,
    );
    this.#free = db.prepare(
      `SELECT t.seq, i.id, g.name AS nodeGroup, t.task_id AS taskKey, t.due_at AS dueAt, w.seq IS NOT NULL AS queued
       FROM task t CROSS JOIN node_group g ON g.group_id = t.group_id CROSS JOIN instance i ON i.seq = t.seq
       LEFT JOIN waiting w ON w.part = g.part AND w.due_at = t.due_at AND w.seq = t.seq
       WHERE t.group_id = ? AND t.task_id >= ? AND t.task_id < ? ORDER BY t.task_id LIMIT ?`,
    );
    this.#left = db.prepare('SELECT g.name AS nodeGroup, l.task_id AS taskId, l.change FROM left_runs l JOIN node_group g USING (group_id) WHERE l.part = ? ORDER BY l.last_seq');
  }

  readSchedules(partition: number, after: ScheduleKey | undefined, until: number, limit: number): ScheduleRow[] {
    const { nextAt, sched } = after ?? { nextAt: Number.MIN_SAFE_INTEGER, sched: 0 };
    return this.#due.all(partition, nextAt, sched, until, limit).map(scheduleRow);
  }

  readSchedule(nodeGroup: string, taskId: string): ScheduleRow | undefined {
    const groupId = this.#w.names.knownGroup(nodeGroup);
    const found = groupId === undefined ? undefined : this.#ofTask.get(groupId, taskId);
    return found === undefined ? undefined : scheduleRow(found);
  }

  readFreeRuns(nodeGroup: string, taskId: string, limit: number): GuardedRun[] {
    const groupId = this.#w.names.knownGroup(nodeGroup);
    return groupId === undefined ? [] : this.#free.all(groupId, ...freeRunKeys(taskId), limit).map(guardedRun);
  }

  load(partition: number): LoadedSchedules {
    const left = this.#left.all(partition).map(({ change, ...task }): LeftRuns => ({ ...task, by: leftBy(change) }));
    return { guarded: this.#guarded.all(partition).map(guardedRun), resting: this.#resting.all(partition).map(scheduleRow), left };
  }
}

function guardedRun({ id, queued, ...run }: GuardedData): GuardedRun {
  const stands = queued === 0 ? 'active' : run.dueAt === heldUntil ? 'held' : 'waiting';
  return { ...run, id: idFromBytes(id), stands };
}
