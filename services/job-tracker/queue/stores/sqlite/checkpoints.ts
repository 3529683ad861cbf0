import type { Database } from 'better-sqlite3';
import { kindOf } from './sqlite-errors.js';

/** Pages of the log after which an idle writer moves them into the file (4 KiB each). */
const idlePages = 250;
/** Pages after which a busy one does. */
const busyPages = 2_000;
/** Pages after which it insists that the log starts again, so that it stops growing (16 MiB). */
const insistPages = 4_096;

interface LogState {
  busy: number;
  log: number;
  checkpointed: number;
}

/**
 * Moves the write-ahead log into the file, always from the writer's own thread: SQLite's automatic checkpoint would do
 * it inside a commit. A reader that stays on an old snapshot only delays it.
 */
export class Checkpoints {
  readonly #db: Database;
  /** Pages at which a checkpoint that readers held up is tried again. */
  #notBefore = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  run(idle: boolean): void {
    const { log, checkpointed } = this.#pragma('NOOP');
    const left = log - checkpointed;
    if (log < this.#notBefore) {
      if (left === 0 || log < idlePages) this.#notBefore = 0;
      return;
    }
    if (left < (idle ? idlePages : busyPages)) return;
    const after = this.#pragma(log >= insistPages ? 'RESTART' : 'PASSIVE');
    this.#notBefore = after.busy === 1 || after.checkpointed < after.log ? log + busyPages : 0;
  }

  /** At open and close: all into the file, and the log emptied, unless others use it. */
  finish(): void {
    this.#pragma('TRUNCATE');
  }

  #pragma(mode: 'NOOP' | 'PASSIVE' | 'RESTART' | 'TRUNCATE'): LogState {
    try {
      const [state] = this.#db.pragma(`wal_checkpoint(${mode})`) as LogState[];
      return state ?? { busy: 0, log: 0, checkpointed: 0 };
    } catch (error) {
      // What is in the log stays in the log: a full disk or a busy file only puts it off.
      const kind = kindOf(error);
      if (kind === 'busy' || kind === 'full') return { busy: 1, log: 0, checkpointed: 0 };
      throw error;
    }
  }
}
