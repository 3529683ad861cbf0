import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { LtsError, messageOf } from '../errors/lts-error.js';

/** The right to a folder, held until it is released or this process ends. */
export interface OwnerLock {
  release(): void;
}

/**
 * Takes the folder, or gives undefined when a living process (paused counts as living) has it, or has just removed it.
 * The lock is an exclusive transaction on a database of its own that never holds data: the operating system frees it
 * when its process ends in any way, and only then. Nobody may open `owner.lock` in any other way in a process that holds
 * it, not even to read it: closing any descriptor of a file drops all POSIX locks that the process has on it.
 */
export function takeOwnerLock(folder: string): OwnerLock | undefined {
  const path = join(folder, 'owner.lock');
  let database: Database.Database | undefined;
  let before: string | undefined;
  try {
    if (!existsSync(path)) new Database(path).close();
    before = fileAt(path);
    database = new Database(path, { timeout: 0, fileMustExist: true });
    database.pragma('locking_mode = EXCLUSIVE');
    database.exec('BEGIN EXCLUSIVE');
    // Who has emptied a folder deletes it with its lock, and a lock on a deleted file keeps nobody out. Only who holds
    // the lock of the present file deletes it, so what is true now stays true.
    if (before !== undefined && fileAt(path) === before) return releaseOf(database);
    database.close();
    return undefined;
  } catch (error) {
    database?.close();
    if (!existsSync(folder) || (before !== undefined && !existsSync(path))) return undefined;
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return undefined;
    throw new LtsError('STORE_FAILED', `cannot lock the folder ${folder}: ${messageOf(error)}; check that it is writable (owner.lock holds no data: when it is damaged and no process uses the folder, delete it)`, { cause: error });
  }
}

function releaseOf(held: Database.Database): OwnerLock {
  return {
    release: () => {
      if (held.open) held.close();
    },
  };
}

/** Which file lies there now; undefined: none. Asking opens no descriptor. */
function fileAt(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.dev} ${stat.ino} ${stat.birthtimeNs}`;
}
