import type { Database, Statement } from 'better-sqlite3';

/** A live schedule as transitions need it. */
export interface LiveSchedule {
  sched: number;
  seq: number;
  part: number;
  groupId: number;
  version: number;
  active: number;
  nextAt: number | null;
}

/** A live run of a task. */
export interface LiveRun {
  seq: number;
  taskKey: string;
  dueAt: number;
}

/** The statements of schedules, prepared once per connection. Positional values, in the order of the text. */
export interface ScheduleSql extends Record<RunName, Statement<unknown[]>> {
  /** The groups that have schedules. */
  groups: Statement<[], number>;
  bySched: Statement<[number], LiveSchedule>;
  byTask: Statement<[number, string], LiveSchedule>;
  /** What its runs have from it. */
  given: Statement<[number], { priority: number; clientId: number }>;
  /** By key, from one on to before another one. */
  runs: Statement<[number, string, string, number], LiveRun>;
  /** Those of two ranges of keys that workers have. */
  running: Statement<unknown[], LiveRun>;
  leftOf: Statement<[number, number, string, number], { lastSeq: number; nextKey: string }>;
  isLastAttempt: Statement<[number, number], number>;
}

type RunName = 'add' | 'replace' | 'move' | 'alter' | 'remove' | 'addRun' | 'addLive' | 'addPassed' | 'markLast' | 'unmarkLast' | 'leave' | 'moveLeft' | 'removeLeft';

const liveSelect = 'SELECT sched, seq, part, group_id AS groupId, version, active, next_at AS nextAt FROM schedule';

/** An instance with what the submission gives it; the first value is its seq. */
const instanceOf = (job: string) =>
  `INSERT INTO instance (seq, id, group_id, task_id, type, priority, due_at, created_at, client_id, policy, answer, job)
   SELECT ?, unhex(?, '-'), group_id, ?, type, priority, ?, ?, client_id, policy, 0, ${job} FROM instance WHERE seq = ?`;

export function prepareScheduleSql(db: Database): ScheduleSql {
  const run = (text: string): Statement<unknown[]> => db.prepare(text);
  return {
    groups: db.prepare<[], number>('SELECT group_id FROM node_group g WHERE EXISTS (SELECT 1 FROM schedule s WHERE s.group_id = g.group_id)').pluck(),
    bySched: db.prepare(`${liveSelect} WHERE sched = ?`),
    byTask: db.prepare(`${liveSelect} WHERE group_id = ? AND task_id = ?`),
    given: db.prepare('SELECT priority, coalesce(client_id, 0) AS clientId FROM instance WHERE seq = ?'),
    add: run(
      `INSERT INTO schedule (sched, seq, part, group_id, task_id, submit_id, version, active, next_at, fires, updated_at, plan)
       VALUES (?, ?, ?, ?, ?, ?, 1, 1, ?, 0, ?, ?)`,
    ),
    replace: run(
      `UPDATE schedule SET seq = ?, submit_id = ?, version = version + 1, active = 1, next_at = iif(active = 1 AND next_at <= ?, next_at, ?), fires = 0, updated_at = ?, plan = ?
       WHERE sched = ?`,
    ),
    move: run('UPDATE schedule SET next_at = ?, fires = fires + ?, last_at = max(coalesce(?, last_at), coalesce(last_at, ?)) WHERE sched = ?'),
    alter: run('UPDATE schedule SET version = version + 1, active = ?, next_at = ?, updated_at = ? WHERE sched = ?'),
    remove: run('DELETE FROM schedule WHERE sched = ?'),
    addRun: run(instanceOf('coalesce(?, job)')),
    addLive: run('INSERT INTO task (group_id, task_id, seq, due_at) VALUES (?, ?, ?, ?)'),
    addPassed: run(instanceOf("x''")),
    runs: db.prepare('SELECT seq, task_id AS taskKey, due_at AS dueAt FROM task WHERE group_id = ? AND task_id >= ? AND task_id < ? ORDER BY task_id LIMIT ?'),
    running: db.prepare(
      `SELECT x.seq, i.task_id AS taskKey, i.due_at AS dueAt FROM executing x CROSS JOIN instance i ON i.seq = x.seq
       WHERE i.group_id = ? AND (i.task_id >= ? AND i.task_id < ? OR i.task_id >= ? AND i.task_id < ?) ORDER BY x.seq`,
    ),
    leave: run("INSERT OR REPLACE INTO left_runs (part, group_id, task_id, change, last_seq, next_key) VALUES (?, ?, ?, ?, ?, '')"),
    leftOf: db.prepare('SELECT last_seq AS lastSeq, next_key AS nextKey FROM left_runs WHERE part = ? AND group_id = ? AND task_id = ? AND change = ?'),
    moveLeft: run('UPDATE left_runs SET next_key = ? WHERE part = ? AND group_id = ? AND task_id = ? AND change = ?'),
    removeLeft: run('DELETE FROM left_runs WHERE part = ? AND group_id = ? AND task_id = ? AND change = ?'),
    markLast: run('UPDATE executing SET cancelling = 2 WHERE seq = ? AND cancelling = 0'),
    unmarkLast: run('UPDATE executing SET cancelling = 0 WHERE seq = ? AND cancelling = 2'),
    isLastAttempt: db.prepare<[number, number], number>('SELECT 1 FROM executing WHERE seq = ? AND attempt = ? AND cancelling = 2').pluck(),
  };
}
