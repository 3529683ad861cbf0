import Database from 'better-sqlite3';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { StoreIdentity } from '../../queue-store.js';
import { busyMs, type LockWait } from './lock-wait.js';
import { migrate } from './migrate.js';
import { describeFailure, kindOf, reasonOfDriver } from './sqlite-errors.js';
import { StoreFailure } from './store-failure.js';

/** Marks a file as a store of this program ("LTSQ"). */
const applicationId = 0x4c545351;

/** File systems on which SQLite's locks and shared memory do not work between hosts. */
const networkFileSystems = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
]);

/** Below this size the whole file is checked at open; above it only its ends, as a check reads all of it. */
const fullCheckBytes = 32 * 1024 * 1024;

/** What the store shall be. */
export interface Wanted {
  file: string;
  cluster: string;
  partitions: number;
}

/** Opens the store for writing, makes it when the file is missing or empty, and checks that it is the wanted one. */
export function openForWriting(wanted: Wanted, locks: LockWait): { db: Database.Database; identity: StoreIdentity } {
  const { file } = wanted;
  prepareFolder(file);
  let db: Database.Database | undefined;
  try {
    refuseLogAlone(file);
    const opened = new Database(file, { timeout: busyMs });
    db = opened;
    const version = locks.run(() => refuseForeign(opened, file));
    locks.run(() => setPragmas(opened, file));
    if (version > 0) refuseDamaged(opened, file);
    locks.run(() => opened.exec('BEGIN IMMEDIATE'), opened);
    migrate(opened, file);
    const identity = identify(opened, wanted);
    opened.exec('COMMIT');
    return { db: opened, identity };
  } catch (error) {
    db?.close();
    if (error instanceof StoreFailure) throw error;
    throw new StoreFailure(reasonOfDriver(error), describeFailure(file, error), true, error);
  }
}

/** Opens the store for reading beside the writer. */
export function openForReading(file: string): Database.Database {
  const db = new Database(file, { readonly: true, fileMustExist: true, timeout: 2_000 });
  db.pragma('cache_size = -16000');
  return db;
}

function prepareFolder(file: string): void {
  const folder = dirname(file);
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw new StoreFailure('STORE_FAILED', `the folder ${folder} cannot be made: ${(error as Error).message}`, true, error);
  }
  const network = networkFileSystems.get(statfsSync(folder).type);
  if (network !== undefined) {
    throw new StoreFailure('CONFIG_INVALID', `store ${file} is on ${network}; SQLite needs a local disk: move it, or use PostgreSQL`, true);
  }
}

/** Opening would delete a log whose file is gone, and with it what could still be repaired; nothing but damage leaves it so. */
function refuseLogAlone(file: string): void {
  const bytes = sizeOf(`${file}-wal`);
  if (bytes === 0 || sizeOf(file) > 0) return;
  throw new StoreFailure('STORE_DAMAGED', `store ${file} is missing or empty, but ${file}-wal has ${bytes} bytes of it; restore both from a backup, or move the -wal file away to begin anew`, true);
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Nothing is written before this has passed. Returns the schema's version. */
function refuseForeign(db: Database.Database, file: string): number {
  const tables = db.prepare<[], number>('SELECT count(*) FROM sqlite_schema').pluck().get() ?? 0;
  const id = db.pragma('application_id', { simple: true }) as number;
  if (id !== applicationId && (tables > 0 || id !== 0)) {
    throw new StoreFailure('STORE_FOREIGN', `${file} is a database of another program (application id ${id}); name another file`, true);
  }
  return db.pragma('user_version', { simple: true }) as number;
}

/** Of every connection: the driver's build would otherwise reopen the file with synchronous=NORMAL. */
function setPragmas(db: Database.Database, file: string): void {
  db.pragma('journal_mode = WAL');
  db.pragma('locking_mode = NORMAL');
  db.pragma('synchronous = FULL');
  db.pragma('foreign_keys = OFF');
  db.pragma('wal_autocheckpoint = 0');
  db.pragma(`journal_size_limit = ${64 * 1024 * 1024}`);
  db.pragma('cache_size = -64000');
  db.pragma('temp_store = MEMORY');
  const mode = db.pragma('journal_mode', { simple: true }) as string;
  const level = db.pragma('synchronous', { simple: true }) as number;
  if (mode !== 'wal' || level !== 2) {
    throw new StoreFailure('STORE_FAILED', `store ${file}: journal_mode is ${mode} and synchronous ${level}, wanted wal and 2`, true);
  }
}

function refuseDamaged(db: Database.Database, file: string): void {
  try {
    if (existsSync(file) && statSync(file).size <= fullCheckBytes) {
      const said = db.pragma('quick_check(1)', { simple: true }) as string;
      if (said !== 'ok') throw new StoreFailure('STORE_DAMAGED', `store ${file} is damaged: ${said}; restore it from a backup`, true);
      return;
    }
    const tables = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").pluck().all();
    for (const table of tables) {
      const first = db.prepare<[], number>(`SELECT 1 FROM (SELECT * FROM ${table} LIMIT 1)`).pluck();
      first.get();
    }
    db.prepare('SELECT * FROM instance ORDER BY seq DESC LIMIT 1').get();
    db.prepare('SELECT * FROM ended ORDER BY seq DESC LIMIT 1').get();
  } catch (error) {
    const kind = kindOf(error);
    if (kind !== 'damaged' && kind !== 'foreign') throw error;
    throw new StoreFailure('STORE_DAMAGED', describeFailure(file, error), true, error);
  }
}

/** Reads who the store is; a new one gets its identity. */
function identify(db: Database.Database, wanted: Wanted): StoreIdentity {
  const found = db
    .prepare<[], StoreIdentity>('SELECT store_id AS storeId, cluster, partitions FROM meta')
    .get();
  if (found === undefined) return establish(db, wanted);
  if (found.cluster !== wanted.cluster) {
    throw new StoreFailure('STORE_FOREIGN', `store ${wanted.file} is of cluster "${found.cluster}", not "${wanted.cluster}"; name the right file`, true);
  }
  if (found.partitions !== wanted.partitions) {
    throw new StoreFailure(
      'CONFIG_INVALID',
      `store ${wanted.file} was made with ${found.partitions} partitions, the settings say ${wanted.partitions}; set ${found.partitions}`,
      true,
    );
  }
  return found;
}

function establish(db: Database.Database, wanted: Wanted): StoreIdentity {
  const identity: StoreIdentity = { storeId: randomUUID(), cluster: wanted.cluster, partitions: wanted.partitions };
  db.pragma(`application_id = ${applicationId}`);
  db.prepare('INSERT INTO meta (one, store_id, cluster, partitions) VALUES (1, ?, ?, ?)').run(identity.storeId, identity.cluster, identity.partitions);
  const partition = db.prepare('INSERT INTO ownership (part, epoch) VALUES (?, 0)');
  for (let part = 0; part < wanted.partitions; part++) partition.run(part);
  return identity;
}
