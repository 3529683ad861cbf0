import { LtsError } from '../../../../../shared/errors/lts-error.js';
import type { Reason } from '../../../../../shared/errors/reasons.js';

/** A failure inside a store thread; it crosses to the caller as a FailureMessage. */
export class StoreFailure extends LtsError {
  /** True: nothing of the work is stored. False: unknown. */
  readonly rolledBack: boolean;

  constructor(reason: Reason, message: string, rolledBack: boolean, cause?: unknown) {
    super(reason, message, { cause });
    this.rolledBack = rolledBack;
  }
}

/** A failure as it is sent between threads. */
export interface FailureMessage {
  reason: Reason;
  message: string;
  rolledBack: boolean;
}
