import type { FinalState } from '../../instance-state.js';
import { stateCodes } from '../codes.js';
import type { Facts } from './facts-cache.js';
import { storedId } from './known-ids.js';
import { countsOf, leaveQueue } from './queued.js';
import { oweResult } from './run-transitions.js';
import { type Counts, type TaskRow } from './writer-sql.js';
import { noCounts, type WriterState } from './writer-state.js';

/** How something ends that does not run. Of what is cancelled the message follows from what it has behind it. */
export interface QueuedEnd {
  state: Extract<FinalState, 'CANCELLED' | 'FAILED' | 'DISCARDED'>;
  message?: string | undefined;
  at: number;
}

interface EndedQueued<P> {
  id: string;
  seq: number;
  placement: P;
  owedTo?: string | undefined;
}

/** Ends the current instance of a task, which is in a queue. The task is left to the caller. */
export function endCurrent(w: WriterState, { seq, dueAt }: Pick<TaskRow, 'seq' | 'dueAt'>, facts: Facts, end: QueuedEnd): EndedQueued<'ready' | 'waiting'> {
  const where = { ...facts, dueAt };
  const counts = countsOf(w, seq, where);
  return record(w, seq, facts, leaveQueue(w, seq, where), counts, end);
}

/** Ends the next instance of a task. */
export function endNext(w: WriterState, seq: number, facts: Facts, end: QueuedEnd): EndedQueued<'blocked'> {
  w.sql.setNext.run(null, facts.groupId, facts.taskId);
  return record(w, seq, facts, 'blocked', noCounts, end);
}

function record<P>(w: WriterState, seq: number, facts: Facts, placement: P, counts: Counts, end: QueuedEnd): EndedQueued<P> {
  const { attempts, retryTimes, lostTimes } = counts;
  const owed = facts.clientId === 0 ? null : w.lastOwed + 1;
  const message = end.message ?? (attempts === 0 ? 'cancelled before it ran' : 'cancelled before its retry');
  w.sql.endWaiting.run(seq, stateCodes[end.state], end.at, attempts, retryTimes, lostTimes, message, owed);
  const owedTo = oweResult(w, seq, facts, owed);
  w.facts.delete(seq);
  return { id: storedId(w, seq), seq, placement, ...(owedTo === undefined ? {} : { owedTo }) };
}
