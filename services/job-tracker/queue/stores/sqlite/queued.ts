import type { Facts } from './facts-cache.js';
import type { Counts } from './writer-sql.js';
import { noCounts, type WriterState } from './writer-state.js';

/** Takes a current instance that does not run out of its queue; tells which one it was. */
export function leaveQueue(w: WriterState, seq: number, where: Facts): 'ready' | 'waiting' {
  if (w.sql.removeReady.run(where.groupId, where.priority, where.dueAt, seq).changes > 0) return 'ready';
  if (w.sql.removeWaiting.run(where.partition, where.dueAt, seq).changes > 0) return 'waiting';
  throw new Error(`instance ${seq} is current but in no queue`);
}

/** The attempts, retries and losses that a queued instance has behind it. */
export function countsOf(w: WriterState, seq: number, where: Facts): Counts {
  return (
    w.sql.readyCounts.get(where.groupId, where.priority, where.dueAt, seq) ??
    w.sql.waitingCounts.get(where.partition, where.dueAt, seq) ??
    noCounts
  );
}
