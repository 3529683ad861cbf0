import { heldUntil, type Release, type ReleaseOutcome } from '../../queue-store.js';
import { factsOf, newlyReady, noCounts, type WriterState } from './writer-state.js';

/** A held run becomes ready, due at its scheduled time. */
export function release(w: WriterState, t: Release): ReleaseOutcome {
  const facts = factsOf(w, t.seq, t.partition);
  if (facts === undefined || w.sql.removeWaiting.run(t.partition, heldUntil, t.seq).changes === 0) return { kind: 'release', ready: undefined };
  const dueAt = w.sql.scheduledAt.get(t.seq);
  if (dueAt === undefined) throw new Error(`instance ${t.seq} is held but not stored`);
  const moved = { ...facts, dueAt };
  w.facts.set(t.seq, moved);
  w.sql.setCurrent.run(t.seq, dueAt, null, facts.groupId, facts.taskId);
  w.sql.addReady.run(facts.groupId, facts.priority, dueAt, t.seq, 0, 0, 0);
  return { kind: 'release', ready: newlyReady(w, t.seq, moved, noCounts) };
}
