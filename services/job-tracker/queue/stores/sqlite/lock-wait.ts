import type { Database } from 'better-sqlite3';
import { systemClock } from '../../../../../shared/time/clock.js';
import { writeLockHolder } from './lock-holder.js';
import { kindOf } from './sqlite-errors.js';
import { StoreFailure } from './store-failure.js';

/** How long SQLite itself waits in one call; between two calls the thread can be ended. */
export const busyMs = 100;

/** The lock is told to be awaited after so long. */
const tellAfterMs = 1_000;

/** Waits for locks that other processes hold: the work is tried again until the deadline, then STORE_LOCKED names the holder. */
export class LockWait {
  readonly #file: string;
  readonly #waitMs: number;
  readonly #tell: (message: string | undefined) => void;
  #told = false;

  /** `tell` hears of a lock that is awaited for long, and with undefined that it is over. */
  constructor(file: string, waitMs: number, tell: (message: string | undefined) => void) {
    this.#file = file;
    this.#waitMs = waitMs;
    this.#tell = tell;
  }

  /** Runs work that either takes a lock or throws busy with nothing done. */
  run<T>(work: () => T, db?: Database): T {
    const start = systemClock.monotonic();
    for (;;) {
      try {
        const result = work();
        if (this.#told) this.#tell(undefined);
        this.#told = false;
        return result;
      } catch (error) {
        if (kindOf(error) !== 'busy') throw error;
        const waited = systemClock.monotonic() - start;
        if (waited >= this.#waitMs) throw new StoreFailure('STORE_LOCKED', this.#describe(db, waited), true, error);
        if (!this.#told && waited >= Math.min(tellAfterMs, this.#waitMs / 2)) {
          this.#told = true;
          this.#tell(this.#describe(db, waited));
        }
      }
    }
  }

  #describe(db: Database | undefined, waitedMs: number): string {
    const holder = writeLockHolder(this.#file);
    const pids = holder === undefined ? ownersOf(db) : [holder];
    const who = pids.length === 0 ? 'another process' : `process ${pids.join(' or ')}`;
    return `store ${this.#file} is locked by ${who} for ${Math.round(waitedMs)} ms; end or resume it`;
  }
}

/** Processes that own partitions: the likely holders where the kernel does not tell. */
function ownersOf(db: Database | undefined): number[] {
  try {
    const pids = db?.prepare<[], number>('SELECT DISTINCT pid FROM ownership WHERE pid IS NOT NULL').pluck().all() ?? [];
    return pids.filter((pid) => pid !== process.pid);
  } catch {
    return [];
  }
}
