import { LtsError } from '../../../shared/errors/lts-error.js';

/** A commit that failed. */
export class CommitFailed extends LtsError {
  /** True: nothing of the batch is stored. False: the outcome is unknown. */
  readonly rolledBack: boolean;

  constructor(reason: 'STORE_FAILED' | 'STORE_LOCKED' | 'STALE_EPOCH' | 'DISK_LOW', message: string, rolledBack: boolean, cause?: unknown) {
    super(reason, message, { cause });
    this.rolledBack = rolledBack;
  }
}
