import type { AlterOutcome, Bounded, EndRuns, EndRunsOutcome, LeftRuns } from '../../../services/job-tracker/queue/queue-store.js';
import { isByHand, isRunKey } from '../../../services/job-tracker/queue/task-key.js';
import { advance, cancelIdle, runs } from './changes.js';
import { type Row, type Tables, taskKey } from './rows.js';

/** Whose runs are to end, and why. */
export interface Stop extends LeftRuns, Bounded {
  partition: number;
  at: number;
}

/** Live runs of a task by arrival. */
export function runsOf(tables: Tables, { nodeGroup, taskId }: { nodeGroup: string; taskId: string }): Row[] {
  return [...tables.live.values()].filter((row) => row.nodeGroup === nodeGroup && row.taskId === taskId && isRunKey(row.key));
}

export function areTooMany(tables: Tables, task: { nodeGroup: string; taskId: string } & Bounded): boolean {
  return task.bound !== undefined && !task.bound.halted && runsOf(tables, task).length > task.bound.most;
}

/** What waits ends, or is left in part; what runs has its last attempt, or is told to stop. */
export function stopRuns(tables: Tables, stop: Stop): Pick<AlterOutcome, 'cancelled' | 'running' | 'left'> {
  const all = runsOf(tables, stop);
  const most = stop.bound?.most ?? Infinity;
  const stopped: ReturnType<typeof stopRuns> = { cancelled: [], running: [] };
  for (const row of all) {
    if (isSpared(stop, row)) continue;
    if (!runs(row)) {
      if (all.length <= most) stopped.cancelled.push(endIdle(tables, row, stop));
      continue;
    }
    if (stop.by === 'cancel') row.state = 'CANCELLING';
    else row.last = true;
    stopped.running.push({ id: row.id, seq: row.seq, attempt: row.attempts });
  }
  if (all.length <= most) return stopped;
  const { partition, nodeGroup, taskId, by } = stop;
  tables.left.set(noteOf(stop), { partition, nodeGroup, taskId, by, lastSeq: tables.lastSeq, nextKey: '' });
  const { cancelled, left } = endRuns(tables, { ...stop, kind: 'endRuns', most });
  return { ...stopped, cancelled, ...(left ? { left } : {}) };
}

export function endRuns(tables: Tables, t: EndRuns): EndRunsOutcome {
  const note = tables.left.get(noteOf(t));
  if (note?.partition !== t.partition) return { kind: 'endRuns', cancelled: [], left: false };
  const inOrder = runsOf(tables, t).filter(({ key }) => key >= note.nextKey).sort((a, b) => (a.key < b.key ? -1 : 1));
  const page = inOrder.slice(0, t.most).filter((row) => row.seq <= note.lastSeq && !runs(row) && !isSpared(t, row));
  const cancelled = page.sort((a, b) => a.seq - b.seq).map((row) => endIdle(tables, row, t));
  const next = inOrder[t.most];
  if (next === undefined) tables.left.delete(noteOf(t));
  else note.nextKey = next.key;
  return { kind: 'endRuns', cancelled, left: next !== undefined };
}

function isSpared({ by }: LeftRuns, { key }: Row): boolean {
  return by === 'suspend' && isByHand(key);
}

function endIdle(tables: Tables, row: Row, { by, at }: LeftRuns & { at: number }): AlterOutcome['cancelled'][number] {
  const as = by === 'cancel' ? undefined : ({ state: 'CANCELLED', message: `its schedule was ${by}${by === 'delete' ? 'd' : 'ed'}` } as const);
  const ended = cancelIdle<'ready' | 'waiting'>(tables, row, at, as);
  advance(tables, row, at);
  return ended;
}

function noteOf(left: LeftRuns): string {
  return `${taskKey(left)}\n${left.by}`;
}
