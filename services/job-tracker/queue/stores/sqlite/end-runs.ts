import type { AlterOutcome, Bounded, EndRuns, EndRunsOutcome, LeftRuns } from '../../queue-store.js';
import { isByHand } from '../../task-key.js';
import { leftCodes } from '../codes.js';
import { endCurrent } from './end-queued.js';
import { storedId } from './known-ids.js';
import { runningOf, runsFrom, runsUpTo } from './live-schedules.js';
import type { LiveRun } from './schedule-sql.js';
import { factsOf, type WriterState } from './writer-state.js';

/** Whose runs are to end, and why. */
interface Stop extends Omit<LeftRuns, 'nodeGroup'> {
  partition: number;
  groupId: number;
  at: number;
}

type Stopped = Pick<AlterOutcome, 'cancelled' | 'running' | 'left'>;

/** Whether more runs of the task live than one transition takes on, while some of them may begin at any moment. */
export function areTooMany(w: WriterState, groupId: number, taskId: string, { bound }: Bounded): boolean {
  return bound !== undefined && !bound.halted && runsUpTo(w, groupId, taskId, bound.most) === undefined;
}

/** Stops the live runs of a task; of very many those that wait are left in part. */
export function stopRuns(w: WriterState, stop: Stop, most = Infinity): Stopped {
  const { partition, groupId, taskId, by } = stop;
  const stopped: Stopped = { cancelled: [], running: [] };
  const all = runsUpTo(w, groupId, taskId, most);
  for (const run of all ?? runningOf(w, groupId, taskId)) stopRun(w, stop, run, stopped);
  if (all !== undefined) return stopped;
  w.schedules.leave.run(partition, groupId, taskId, leftCodes[by], w.lastSeq);
  const { cancelled, left } = endLeft(w, stop, most);
  stopped.cancelled.push(...cancelled);
  if (left) stopped.left = true;
  return stopped;
}

/** Goes on with what is left. */
export function endRuns(w: WriterState, { partition, nodeGroup, taskId, by, most, at }: EndRuns): EndRunsOutcome {
  const groupId = w.names.knownGroup(nodeGroup);
  return groupId === undefined ? { kind: 'endRuns', cancelled: [], left: false } : endLeft(w, { partition, groupId, taskId, by, at }, most);
}

function endLeft(w: WriterState, stop: Stop, most: number): EndRunsOutcome {
  const { partition, groupId, taskId, by } = stop;
  const note = w.schedules.leftOf.get(partition, groupId, taskId, leftCodes[by]);
  if (note === undefined) return { kind: 'endRuns', cancelled: [], left: false };
  const runs = runsFrom(w, groupId, taskId, note.nextKey, most + 1);
  const next = runs[most];
  const cancelled: AlterOutcome['cancelled'] = [];
  for (const run of runs.slice(0, most).toSorted((a, b) => a.seq - b.seq)) {
    if (run.seq > note.lastSeq || isSpared(stop, run) || w.sql.executing.get(run.seq) !== undefined) continue;
    cancelled.push(endRun(w, stop, run));
  }
  if (next === undefined) w.schedules.removeLeft.run(partition, groupId, taskId, leftCodes[by]);
  else w.schedules.moveLeft.run(next.taskKey, partition, groupId, taskId, leftCodes[by]);
  return { kind: 'endRuns', cancelled, left: next !== undefined };
}

/** What waits ends; what runs has its last attempt, or is told to stop. */
function stopRun(w: WriterState, stop: Stop, run: LiveRun, stopped: Stopped): void {
  if (isSpared(stop, run)) return;
  const running = w.sql.executing.get(run.seq);
  if (running === undefined) {
    stopped.cancelled.push(endRun(w, stop, run));
    return;
  }
  if (stop.by === 'cancel') w.sql.setCancelling.run(run.seq);
  else w.schedules.markLast.run(run.seq);
  stopped.running.push({ id: storedId(w, run.seq), seq: run.seq, attempt: running.attempt });
}

function isSpared({ by }: Stop, { taskKey }: LiveRun): boolean {
  return by === 'suspend' && isByHand(taskKey);
}

function endRun(w: WriterState, { partition, by, at }: Stop, run: LiveRun): AlterOutcome['cancelled'][number] {
  const facts = factsOf(w, run.seq, partition);
  if (facts === undefined) throw new Error(`run ${run.seq} lives but is not stored`);
  const message = by === 'cancel' ? undefined : `cancelled: its schedule was ${by === 'suspend' ? 'suspended' : 'deleted'}`;
  const ended = endCurrent(w, run, facts, { state: 'CANCELLED', message, at });
  w.sql.endTask.run(facts.groupId, run.taskKey);
  return ended;
}
