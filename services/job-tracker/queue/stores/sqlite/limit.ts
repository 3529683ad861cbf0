import type { Limit, LimitOutcome } from '../../queue-store.js';
import type { WriterState } from './writer-state.js';

/** Sets the limits of a group, which is made when it is new. */
export function limit(w: WriterState, { nodeGroup, partition, limits }: Limit): LimitOutcome {
  const groupId = w.names.group(nodeGroup, partition);
  w.sql.setLimits.run(limits.backlog ?? null, limits.maxRunning ?? null, limits.startsPerSecond ?? null, groupId);
  return { kind: 'limit' };
}
