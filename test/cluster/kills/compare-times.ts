import { secondMs } from './scheduled-jobs.js';

/** A row of the store: a scheduled time of a task and what became of it. */
export interface TimeRow {
  task: string;
  scheduledAt: number;
  state: string;
}

/** A run as the worker saw it begin. */
export interface SeenRun {
  task: string;
  scheduledAt: number;
}

/** What was asked for. */
export interface Expected {
  tasks: readonly string[];
  firstAt: number;
  /** Every task has had this time and all before it. */
  lastAt: number;
  /** From then on runs may have been cancelled, since their schedules were deleted. */
  deletedFrom: number;
}

/**
 * Whether each scheduled time of each task became one row, in order and without a gap, and whether what ran is what the
 * rows say: expected set = executed set and passed rows, nothing twice. Gives what is wrong.
 */
export function compareTimes({ tasks, firstAt, lastAt, deletedFrom }: Expected, rows: readonly TimeRow[], seen: readonly SeenRun[]): string[] {
  const stored = byTime(rows);
  const ran = byTime(seen);
  const wrong: string[] = [];
  for (const task of tasks) {
    for (let at = firstAt; at <= lastAt; at += secondMs) if (!stored.has(keyOf(task, at))) wrong.push(`${keyOf(task, at)} is in no row`);
  }
  const known = new Set(tasks);
  for (const [key, [first, ...more]] of stored) {
    if (first === undefined) continue;
    const { task, scheduledAt, state } = first;
    const times = ran.get(key)?.length ?? 0;
    if (more.length > 0) wrong.push(`${key} is in ${more.length + 1} rows`);
    if (!known.has(task) || scheduledAt < firstAt || (scheduledAt - firstAt) % secondMs !== 0) wrong.push(`${key} was not asked for`);
    if (state === 'SUCCEEDED' && times !== 1) wrong.push(`${key} is ${state} and ran ${times} times`);
    if ((state === 'DISCARDED' || state === 'MISSED') && times !== 0) wrong.push(`${key} is ${state} and ran ${times} times`);
    const cancelled = state === 'CANCELLED' && scheduledAt >= deletedFrom && times === 0;
    if (!cancelled && !['SUCCEEDED', 'DISCARDED', 'MISSED'].includes(state)) wrong.push(`${key} is ${state}`);
  }
  for (const [key, runs] of ran) if (!stored.has(key)) wrong.push(`${key} ran ${runs.length} times and is in no row`);
  return wrong;
}

function keyOf(task: string, scheduledAt: number): string {
  return `${task} at ${new Date(scheduledAt).toISOString()}`;
}

function byTime<T extends SeenRun>(all: readonly T[]): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const each of all) {
    const key = keyOf(each.task, each.scheduledAt);
    const known = found.get(key);
    if (known === undefined) found.set(key, [each]);
    else known.push(each);
  }
  return found;
}
