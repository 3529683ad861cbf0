import type Database from 'better-sqlite3';
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { LtsError } from '../../../../../shared/errors/lts-error.js';
import type { StoreIdentity } from '../../queue-store.js';
import { restoredEpochs, type StoreReport, type StoreTools } from '../../store-tools.js';
import { openForReading, openForWriting, type Wanted } from './database.js';
import { LockWait } from './lock-wait.js';
import { latestVersion, schemaVersion } from './migrate.js';
import { describeFailure, reasonOfDriver } from './sqlite-errors.js';

/** Problems that are named; the others are only more of the same. */
const mostProblems = 20;

/** Tools on one SQLite file. */
export class SqliteTools implements StoreTools {
  readonly #wanted: Wanted;
  readonly #lockWaitMs: number;

  constructor(wanted: Wanted, lockWaitMs: number) {
    this.#wanted = wanted;
    this.#lockWaitMs = lockWaitMs;
  }

  async check(): Promise<StoreReport> {
    return this.#reading((db) => {
      const found = db.pragma(`integrity_check(${mostProblems})`) as { integrity_check: string }[];
      const problems = found.map((row) => row.integrity_check).filter((text) => text !== 'ok');
      const schema = schemaVersion(db);
      const latest = latestVersion();
      if (schema > latest) throw new LtsError('STORE_NEWER', `store ${this.#wanted.file} has schema ${schema}, this version knows up to ${latest}; run the newer version`);
      if (schema < latest) problems.push(`the schema is ${schema}, this version makes ${latest} of it at its next start`);
      const identity = db.prepare<[], StoreIdentity>('SELECT store_id AS storeId, cluster, partitions FROM meta').get();
      if (identity === undefined) throw new LtsError('STORE_FOREIGN', `${this.#wanted.file} is no store of this program; name another file`);
      if (identity.cluster !== this.#wanted.cluster) problems.push(`it is of cluster "${identity.cluster}", the settings say "${this.#wanted.cluster}"`);
      return { store: this.#wanted.file, identity, schema, problems };
    });
  }

  /** VACUUM INTO copies what one read transaction sees, and nothing that was deleted. */
  async backup(file: string): Promise<void> {
    if (existsSync(file)) throw new LtsError('INVALID_ARGUMENT', `${file} exists; name a new file`);
    const unfinished = `${file}.unfinished`;
    rmSync(unfinished, { force: true });
    return this.#reading((db) => {
      db.prepare('VACUUM INTO ?').run(unfinished);
      sync(unfinished);
      renameSync(unfinished, file);
      sync(dirname(file));
    });
  }

  async migrate(): Promise<string[]> {
    const before = existsSync(this.#wanted.file) ? this.#schema() : 0;
    const db = this.#openForWriting(this.#wanted);
    const after = schemaVersion(db);
    db.close();
    return Array.from({ length: after - before }, (_, i) => `schema ${before + i + 1}`);
  }

  async raiseEpochs(): Promise<void> {
    const partitions = this.#reading((db) => db.prepare<[], number>('SELECT partitions FROM meta').pluck().get());
    const db = this.#openForWriting({ ...this.#wanted, partitions: partitions ?? this.#wanted.partitions });
    db.prepare('UPDATE ownership SET epoch = epoch + ?').run(restoredEpochs);
    db.close();
  }

  #openForWriting(wanted: Wanted): Database.Database {
    return openForWriting(wanted, new LockWait(wanted.file, this.#lockWaitMs, () => undefined)).db;
  }

  #schema(): number {
    const db = openForReading(this.#wanted.file);
    const version = schemaVersion(db);
    db.close();
    return version;
  }

  #reading<T>(work: (db: Database.Database) => T): T {
    const { file } = this.#wanted;
    if (!existsSync(file)) throw new LtsError('NOT_FOUND', `there is no store ${file}; check --data-dir`);
    let db: Database.Database | undefined;
    try {
      db = openForReading(file);
      return work(db);
    } catch (error) {
      throw error instanceof LtsError ? error : new LtsError(reasonOfDriver(error), describeFailure(file, error), { cause: error });
    } finally {
      db?.close();
    }
  }
}

function sync(path: string): void {
  const handle = openSync(path, 'r');
  fsyncSync(handle);
  closeSync(handle);
}
