/**
 * Faults that tests put into the writer: the n-th transaction (counted from 1 over all of the process) fails with an
 * SQLite code, stalls while it holds the write lock, or ends the thread.
 */
export interface StoreFault {
  transaction: number;
  at: 'work' | 'before-commit' | 'after-commit';
  /** A code such as SQLITE_FULL; or milliseconds to stall; or the end of the thread. */
  does: { error: string } | { stallMs: number } | { exit: true };
}

/** An error that looks like one of the driver. */
class InjectedError extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`injected ${code}`);
    this.code = code;
  }
}

/** Counts transactions and makes the planned faults happen. */
export class FaultPlan {
  readonly #faults: readonly StoreFault[];
  #transactions = 0;

  constructor(faults: readonly StoreFault[]) {
    this.#faults = faults;
  }

  begin(): void {
    this.#transactions++;
  }

  reach(at: StoreFault['at']): void {
    if (this.#faults.length === 0) return;
    for (const fault of this.#faults) {
      if (fault.transaction !== this.#transactions || fault.at !== at) continue;
      if ('error' in fault.does) throw new InjectedError(fault.does.error);
      if ('exit' in fault.does) process.exit(1);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fault.does.stallMs);
    }
  }
}
