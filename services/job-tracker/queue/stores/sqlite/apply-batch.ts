import type { CommitBatch, HeldEpoch, Outcome, Transition } from '../../queue-store.js';
import { admit } from './admit.js';
import { alter } from './alter.js';
import { cancel } from './cancel.js';
import { endRuns } from './end-runs.js';
import { enroll } from './enroll.js';
import { fire } from './fire.js';
import { finish, late, promote, reassign, start } from './run-transitions.js';
import { limit } from './limit.js';
import { refused } from '../refused.js';
import { release } from './release.js';
import { kindOf } from './sqlite-errors.js';
import { StoreFailure } from './store-failure.js';
import type { WriterState } from './writer-state.js';

/** Applies the batch inside the transaction that is open. One outcome each, in their order. */
export function applyBatch(w: WriterState, batch: CommitBatch): Outcome[] {
  prepare(w, batch);
  const outcomes: Outcome[] = Array.from({ length: batch.transitions.length });
  for (let i = 0; i < outcomes.length; i++) outcomes[i] = apply(w, batch.transitions[i] as Transition);
  keepCounters(w);
  return outcomes;
}

/**
 * As applyBatch, with a savepoint around every transition: after a batch failed on data, only the culprit is refused.
 */
export function applyOneByOne(w: WriterState, batch: CommitBatch): Outcome[] {
  prepare(w, batch);
  const outcomes = batch.transitions.map((t) => applyAlone(w, t));
  keepCounters(w);
  return outcomes;
}

function applyAlone(w: WriterState, t: Transition): Outcome {
  w.db.exec('SAVEPOINT one');
  const { lastSeq, lastOwed } = w;
  try {
    const outcome = apply(w, t);
    w.db.exec('RELEASE one');
    return outcome;
  } catch (error) {
    if (kindOf(error) !== 'data') throw error;
    w.db.exec('ROLLBACK TO one');
    w.db.exec('RELEASE one');
    Object.assign(w, { lastSeq, lastOwed });
    w.names.clear();
    w.facts.clear();
    return refused(t, error);
  }
}

function prepare(w: WriterState, batch: CommitBatch): void {
  checkEpochs(w, batch);
  const counters = w.sql.counters.get();
  if (counters === undefined) throw new Error('the store has no counters');
  Object.assign(w, counters);
}

function keepCounters(w: WriterState): void {
  w.sql.setCounters.run(w.lastSeq, w.lastOwed);
}

/** The fence: every touched partition must still be held under the epoch of the batch. */
function checkEpochs(w: WriterState, batch: CommitBatch): void {
  for (const { partition, epoch } of batch.epochs) {
    const stored = w.sql.epoch.get(partition);
    if (stored === epoch) continue;
    throw new StoreFailure('STALE_EPOCH', `partition ${partition} has epoch ${stored ?? 'none'}, the commit came with ${epoch}; another owner has it`, true);
  }
  let last = -1;
  for (const { partition } of batch.transitions) {
    if (partition === last) continue;
    if (!holds(batch.epochs, partition)) {
      throw new StoreFailure('STORE_FAILED', `a transition touches partition ${partition}, but the commit brings no epoch for it`, true);
    }
    last = partition;
  }
}

function holds(epochs: readonly HeldEpoch[], partition: number): boolean {
  return epochs.some((held) => held.partition === partition);
}

function apply(w: WriterState, t: Transition): Outcome {
  switch (t.kind) {
    case 'admit':
      return admit(w, t);
    case 'start':
      return start(w, t);
    case 'finish':
      return finish(w, t);
    case 'reassign':
      return reassign(w, t);
    case 'cancel':
      return cancel(w, t);
    case 'promote':
      return promote(w, t);
    case 'late':
      return late(w, t);
    case 'limit':
      return limit(w, t);
    case 'enroll':
      return enroll(w, t);
    case 'fire':
      return fire(w, t);
    case 'alter':
      return alter(w, t);
    case 'endRuns':
      return endRuns(w, t);
    case 'release':
      return release(w, t);
  }
}
