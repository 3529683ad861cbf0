import { join } from 'node:path';
import Database from 'better-sqlite3';
import { LtsError, messageOf } from '../errors/lts-error.js';

/** The right to a folder, held until it is released or this process ends. */
export interface OwnerLock {
  release(): void;
}

/**
 * Takes the folder, or gives undefined when a living process (paused counts as living) has it. The lock is an exclusive
 * transaction on a database of its own that never holds data: the operating system frees it when its process ends in
 * any way, and only then. Nobody may open `owner.lock` in any other way in a process that holds it, not even to read
 * it: closing any descriptor of a file drops all POSIX locks that the process has on it.
 */
export function takeOwnerLock(folder: string): OwnerLock | undefined {
  let database: Database.Database | undefined;
  try {
    database = new Database(join(folder, 'owner.lock'), { timeout: 0 });
    database.pragma('locking_mode = EXCLUSIVE');
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return undefined;
    throw new LtsError('STORE_FAILED', `cannot lock the folder ${folder}: ${messageOf(error)}; check that it is writable (owner.lock holds no data: when it is damaged and no process uses the folder, delete it)`, { cause: error });
  }
  const held = database;
  return {
    release: () => {
      if (held.open) held.close();
    },
  };
}
