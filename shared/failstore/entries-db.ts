import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { LtsError, messageOf } from '../errors/lts-error.js';
import type { Logger } from '../log/logger.js';

/** "LTSF": tells our file from any other SQLite file. */
const applicationId = 0x4c545346;
const formatVersion = 1;

const schema = `
  CREATE TABLE entries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    body BLOB NOT NULL,
    incarnation TEXT NOT NULL,
    stored_at INTEGER NOT NULL,
    dead INTEGER NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 0,
    last_error TEXT NOT NULL DEFAULT '',
    origin TEXT NOT NULL DEFAULT ''
  ) STRICT;
  CREATE INDEX entries_by_key ON entries (key) WHERE dead = 0;
  CREATE INDEX entries_dead ON entries (seq) WHERE dead = 1;
  CREATE TABLE incarnations (incarnation TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT;
`;

/** Whether the error says that the file itself is bad. */
export function isDamage(error: unknown): boolean {
  return error instanceof Database.SqliteError && (error.code.startsWith('SQLITE_CORRUPT') || error.code === 'SQLITE_NOTADB');
}

/** Opens entries.db of a folder whose owner lock the caller holds. A damaged file is set aside and a fresh one begun. */
export function openEntries(folder: string, incarnation: string, log: Logger): Database.Database {
  const path = join(folder, 'entries.db');
  try {
    return openSound(path);
  } catch (error) {
    if (!isDamage(error)) throw toStoreError(error, path);
    setAside(path, incarnation, error, log);
    try {
      return openSound(path);
    } catch (again) {
      throw toStoreError(again, path);
    }
  }
}

/** Renames the damaged file with its log, so that nothing in it is lost for those who can repair it. */
export function setAside(path: string, incarnation: string, error: unknown, log: Logger): void {
  let aside = `${path}.damaged-${incarnation}`;
  for (let n = 2; existsSync(aside); n++) aside = `${path}.damaged-${incarnation}-${n}`;
  for (const suffix of ['-wal', '-shm', '']) if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  log.error('failstore.failed', { what: 'the file is damaged; it was set aside and a fresh one begun', path, aside, error });
}

/** The store's error for a failed statement. */
export function toStoreError(error: unknown, path: string): LtsError {
  if (error instanceof LtsError) return error;
  if (error instanceof Database.SqliteError && error.code === 'SQLITE_FULL') {
    return new LtsError('FAIL_STORE_FULL', `the disk of the FailStore ${path} is full; free space or bring a tracker back`, { cause: error });
  }
  return new LtsError('STORE_FAILED', `the FailStore ${path} failed: ${messageOf(error)}`, { cause: error });
}

function openSound(path: string): Database.Database {
  const database = new Database(path, { timeout: 1_000 });
  try {
    setPragmas(database, path);
    const id = database.pragma('application_id', { simple: true }) as number;
    const version = database.pragma('user_version', { simple: true }) as number;
    const tables = database.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number;
    if (tables === 0) create(database);
    else if (id !== applicationId) throw new Database.SqliteError(`not a FailStore (application_id ${id})`, 'SQLITE_NOTADB');
    else if (version > formatVersion) throw new LtsError('STORE_NEWER', `the FailStore ${path} has format ${version}, this program knows ${formatVersion}; run the newer version`);
    else addOrigin(database);
    const check = database.pragma('quick_check(1)', { simple: true }) as string;
    if (check !== 'ok') throw new Database.SqliteError(check, 'SQLITE_CORRUPT');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** The library's default after the first open would lose acked entries on power loss: set at every open, and read back. */
function setPragmas(database: Database.Database, path: string): void {
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.pragma('journal_size_limit = 16777216');
  const mode = database.pragma('journal_mode', { simple: true });
  const synchronous = database.pragma('synchronous', { simple: true });
  if (mode !== 'wal' || synchronous !== 2) throw new LtsError('STORE_FAILED', `the FailStore ${path} cannot be made durable: journal_mode ${String(mode)}, synchronous ${String(synchronous)}`);
}

/** Files of the first version do not have the column; programs of that version do not mind it. */
function addOrigin(database: Database.Database): void {
  const known = database.prepare("SELECT 1 FROM pragma_table_info('entries') WHERE name = 'origin'").get();
  if (known === undefined) database.exec("ALTER TABLE entries ADD COLUMN origin TEXT NOT NULL DEFAULT ''");
}

function create(database: Database.Database): void {
  database.transaction(() => {
    database.exec(schema);
    database.pragma(`application_id = ${applicationId}`);
    database.pragma(`user_version = ${formatVersion}`);
  }).immediate();
}
