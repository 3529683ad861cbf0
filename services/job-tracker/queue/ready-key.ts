import type { ReadyKey } from './queue-store.js';

/** Below 0: a runs before b. */
export function compareReady(a: ReadyKey, b: ReadyKey): number {
  return a.priority - b.priority || a.dueAt - b.dueAt || a.seq - b.seq;
}
