import { messageOf } from '../../../../../shared/errors/lts-error.js';
import { type CommitBatch, CommitFailed, type Outcome } from '../../queue-store.js';
import { BatchPacker, commitText, mostTransitions } from './commit-codec.js';
import { isClash, outcomesOf, type OutcomeRow } from './commit-outcomes.js';
import type { RunStatement } from './ordered-calls.js';
import { refused } from '../refused.js';
import { PgFailure } from './pg-errors.js';

/**
 * Applies a batch in one statement. When it fails on data it is cut in halves, each a commit of its own, until only the
 * culprit is left, which is refused. Rejects with CommitFailed.
 */
export async function commit(query: RunStatement, batch: CommitBatch, clashes: Clashes): Promise<Outcome[]> {
  refuseUnfit(batch);
  const work = new Commit(query, batch.epochs, clashes);
  try {
    return await work.apply(batch);
  } catch (error) {
    throw work.failed(error);
  }
}

/** After a clash so many commits are careful. */
const carefulCommits = 100;

/**
 * Whether admits have met ids or tasks that are taken. As long as they do not, the server inserts without a look before;
 * a clash then costs it the insertion twice.
 */
export class Clashes {
  #careful = 0;

  get areLikely(): boolean {
    return this.#careful > 0;
  }

  note(rows: readonly OutcomeRow[]): void {
    if (rows.some(isClash)) this.#careful = carefulCommits;
    else if (this.#careful > 0) this.#careful--;
  }
}

class Commit {
  readonly #query: RunStatement;
  readonly #epochs: CommitBatch['epochs'];
  readonly #clashes: Clashes;
  /** A half of the batch is stored. */
  #isStored = false;

  constructor(query: RunStatement, epochs: CommitBatch['epochs'], clashes: Clashes) {
    this.#query = query;
    this.#epochs = epochs;
    this.#clashes = clashes;
  }

  async apply(batch: CommitBatch): Promise<Outcome[]> {
    try {
      const { rows } = await this.#query<OutcomeRow>(commitText, BatchPacker.values(batch, this.#clashes.areLikely));
      this.#isStored = true;
      this.#clashes.note(rows);
      return outcomesOf(batch, rows);
    } catch (error) {
      if (!(error instanceof PgFailure) || error.kind !== 'data') throw error;
      return this.#split(batch, error);
    }
  }

  async #split({ transitions }: CommitBatch, failure: PgFailure): Promise<Outcome[]> {
    const [first] = transitions;
    if (first !== undefined && transitions.length === 1) return [refused(first, failure)];
    const middle = transitions.length >> 1;
    const before = await this.apply({ epochs: this.#epochs, transitions: transitions.slice(0, middle) });
    return [...before, ...(await this.apply({ epochs: this.#epochs, transitions: transitions.slice(middle) }))];
  }

  failed(error: unknown): CommitFailed {
    // An error of this side after the server's answer: the batch may well be stored.
    if (!(error instanceof PgFailure)) return new CommitFailed('STORE_FAILED', `the outcome of a commit cannot be read: ${messageOf(error)}`, false, error);
    const { reason, message } = error;
    const known = reason === 'STORE_LOCKED' || reason === 'STALE_EPOCH' || reason === 'DISK_LOW' ? reason : 'STORE_FAILED';
    return new CommitFailed(known, message, error.rolledBack && !this.#isStored, error);
  }
}

function refuseUnfit({ epochs, transitions }: CommitBatch): void {
  if (transitions.length > mostTransitions) {
    throw new CommitFailed('STORE_FAILED', `a commit brings ${transitions.length} transitions, at most ${mostTransitions} are possible`, true);
  }
  const held = new Set(epochs.map(({ partition }) => partition));
  const foreign = transitions.find(({ partition }) => !held.has(partition));
  if (foreign === undefined) return;
  throw new CommitFailed('STORE_FAILED', `a transition touches partition ${foreign.partition}, but the commit brings no epoch for it`, true);
}
