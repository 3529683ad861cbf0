import { isDeepStrictEqual } from 'node:util';
import type { FinalState } from '../../../services/job-tracker/queue/instance-state.js';
import type { NewlyReady } from '../../../services/job-tracker/queue/queue-store.js';
import { isRunKey } from '../../../services/job-tracker/queue/task-key.js';
import { decodeJob } from '../../../shared/grpc/job-codec.js';
import { newlyReady, type Row, type Tables, taskKey } from './rows.js';

/*
 * What the transitions do to rows.
 */

export function keep(tables: Tables, row: Row): void {
  tables.lastSeq = row.seq;
  tables.rows.set(row.seq, row);
  tables.byId.set(row.id, row);
  tables.live.set(row.seq, row);
}

export function runs({ state }: Row): boolean {
  return state === 'EXECUTING' || state === 'CANCELLING';
}

export function enqueue(row: Row, now: number): 'ready' | 'waiting' {
  row.state = row.dueAt <= now ? 'READY' : 'WAITING';
  return row.state === 'READY' ? 'ready' : 'waiting';
}

/** Ends it for good and tells to whom its result is owed. */
export function end(tables: Tables, row: Row, state: FinalState, at: number, message: string): string | undefined {
  Object.assign(row, { state, endedAt: at, message, worker: { nodeId: '', incarnation: '' } });
  tables.live.delete(row.seq);
  if (row.owes === undefined || state === 'REPLACED') return undefined;
  const { id, taskId, nodeGroup, owes, outcome, attempts, key, scheduledAt } = row;
  tables.feedback.set(id, {
    seq: ++tables.lastOwed, id, taskId, nodeGroup, submitNodeGroup: owes, scheduledAt: isRunKey(key) ? scheduledAt : 0, state, outcome, message, attempt: attempts, endedAt: at, deliveries: 0, dead: false, nextAt: 0, lastError: '',
  });
  return owes;
}

/** The current one of a task key has ended: the next one takes its place. */
export function advance(tables: Tables, { nodeGroup, key }: Row, now: number): { ready?: NewlyReady; waitingUntil?: number } {
  const next = tables.tasks.get(taskKey({ nodeGroup, taskId: key }))?.next;
  if (next === undefined) {
    tables.tasks.delete(taskKey({ nodeGroup, taskId: key }));
    return {};
  }
  tables.tasks.set(taskKey({ nodeGroup, taskId: key }), { current: next, next: undefined });
  return enqueue(next, now) === 'waiting' ? { waitingUntil: next.dueAt } : { ready: newlyReady(next) };
}

/** Ends a row that no worker has. */
export function cancelIdle<P extends 'ready' | 'waiting' | 'blocked'>(tables: Tables, row: Row, at: number, as?: { state: FinalState; message: string }): { id: string; seq: number; placement: P; owedTo?: string } {
  const placement = row.state.toLowerCase() as P;
  const { state, message } = as ?? { state: 'CANCELLED', message: row.attempts === 0 ? 'cancelled before it ran' : 'cancelled before its retry' };
  const owedTo = end(tables, row, state, at, message);
  return { id: row.id, seq: row.seq, placement, ...(owedTo === undefined ? {} : { owedTo }) };
}

/** Equal bytes, or bytes of equal jobs: maps have no order on the wire. */
export function sameJob(a: Buffer, b: Buffer): boolean {
  if (a.equals(b)) return true;
  try {
    return isDeepStrictEqual(decodeJob(a), decodeJob(b));
  } catch {
    return false;
  }
}
