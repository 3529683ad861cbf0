import type { Database } from 'better-sqlite3';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../../../../shared/package-root.js';
import { StoreFailure } from './store-failure.js';

const folder = join(packageRoot, 'services/job-tracker/queue/stores/sqlite/migrations');

/** The numbered files, in order; the schema's version is the number of the last one that ran. */
function migrations(): { version: number; path: string }[] {
  return readdirSync(folder)
    .filter((name) => /^\d{4}_\w+\.sql$/.test(name))
    .toSorted()
    .map((name) => ({ version: Number(name.slice(0, 4)), path: join(folder, name) }));
}

/** The version that the database has; 0 before the first migration. */
export function schemaVersion(db: Database): number {
  return db.pragma('user_version', { simple: true }) as number;
}

/** The version that this release makes of a store. */
export function latestVersion(): number {
  return migrations().at(-1)?.version ?? 0;
}

/** Brings the schema up to date. Runs inside a transaction that holds the write lock. */
export function migrate(db: Database, file: string): void {
  const present = schemaVersion(db);
  const all = migrations();
  const latest = latestVersion();
  if (present > latest) {
    throw new StoreFailure('STORE_NEWER', `store ${file} has schema ${present}, this version knows up to ${latest}; run the newer version`, true);
  }
  for (const { version, path } of all) {
    if (version <= present) continue;
    db.exec(readFileSync(path, 'utf8'));
    db.pragma(`user_version = ${version}`);
  }
}
