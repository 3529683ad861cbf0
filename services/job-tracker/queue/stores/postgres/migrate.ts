import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../../../../shared/package-root.js';
import type { Connection } from './connection.js';
import { PgFailure } from './pg-errors.js';

/** One numbered file. */
export interface Migration {
  version: number;
  name: string;
  sql: string;
  /** It takes away what an older release needs: its first line says `-- contracting`. */
  contracting: boolean;
}

/** What a run did. */
export interface Migrated {
  /** Names of those that ran now. */
  ran: string[];
  /** Names of contracting ones that wait for `lts store migrate`. */
  left: string[];
}

/** "lts" as a number: the key of the lock under which one process at a time changes the schema. */
const lockKey = 0x6c7473;
/** For this long a change of the schema may wait for a table: behind it every commit waits, too. */
const lockWithinMs = 2_000;
/** PostgreSQL's code of it. */
const deadlock = '40P01';
const mostRepeats = 5;

/** The files of a folder, in order. */
export function readMigrations(folder: string): Migration[] {
  return readdirSync(folder)
    .filter((name) => /^\d{4}_\w+\.sql$/.test(name))
    .toSorted()
    .map((name) => {
      const sql = readFileSync(join(folder, name), 'utf8');
      return { version: Number(name.slice(0, 4)), name, sql, contracting: sql.startsWith('-- contracting') };
    });
}

/** Those of this release. */
export const migrations: readonly Migration[] = readMigrations(join(packageRoot, 'services/job-tracker/queue/stores/postgres/migrations'));

/**
 * Runs `work` in a transaction that alone may change the schema. Its locks go with the transaction. It takes tables in the
 * order of the files, and commits of trackers that are at work take them in theirs: after a deadlock it begins anew.
 */
export async function alone<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  for (let repeats = 0; ; repeats++) {
    try {
      return await inTransaction(connection, work);
    } catch (error) {
      if (connection.isLost || repeats === mostRepeats || (error as { code?: unknown }).code !== deadlock) throw error;
    }
  }
}

async function inTransaction<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  await connection.query('BEGIN', undefined);
  try {
    await connection.query(`SET LOCAL lock_timeout = ${lockWithinMs}`, undefined);
    await connection.query('SELECT pg_advisory_xact_lock($1)', [lockKey]);
    const result = await work();
    await connection.query('COMMIT', undefined);
    return result;
  } catch (error) {
    if (!connection.isLost) await connection.query('ROLLBACK', undefined).catch(() => undefined);
    throw error;
  }
}

/** The versions that the schema has; undefined: there is no store yet. Throws STORE_FOREIGN and STORE_NEWER. */
export async function presentVersions(connection: Connection, server: string, known: readonly Migration[]): Promise<ReadonlySet<number> | undefined> {
  const { rows: found } = await connection.query<{ schema: boolean; tables: boolean; ours: boolean }>(
    `SELECT to_regnamespace('lts') IS NOT NULL AS schema, EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('lts')) AS tables,
       to_regclass('lts.migration') IS NOT NULL AS ours`,
    undefined,
  );
  const { tables = false, ours = false } = found[0] ?? {};
  if (!tables) return undefined;
  if (!ours) {
    throw refusal('STORE_FOREIGN', `${server} has a schema lts that is not of this program (it has no table lts.migration); name another database`);
  }
  const { rows } = await connection.query<{ version: number }>('SELECT version FROM lts.migration', undefined);
  const present = new Set(rows.map(({ version }) => version));
  const latest = known.at(-1)?.version ?? 0;
  const newest = Math.max(0, ...present);
  if (newest > latest) throw refusal('STORE_NEWER', `store ${server} has schema ${newest}, this version knows up to ${latest}; run the newer version`);
  return present;
}

/** Brings the schema up to date; contracting files run only when they are asked for. Runs inside `alone`. */
export async function migrate(connection: Connection, server: string, known: readonly Migration[], contract: boolean): Promise<Migrated> {
  const present = await presentVersions(connection, server, known);
  if (present === undefined) await makeSchema(connection);
  const missing = known.filter(({ version }) => present?.has(version) !== true);
  // A new store has no older release at work: it takes every file in order.
  const due = missing.filter(({ contracting }) => contract || !contracting || present === undefined);
  for (const { version, name, sql } of due) {
    await connection.query(sql, undefined);
    await connection.query('INSERT INTO lts.migration (version, name) VALUES ($1, $2)', [version, name]);
  }
  return { ran: due.map(({ name }) => name), left: missing.filter((each) => !due.includes(each)).map(({ name }) => name) };
}

/** The schema may have been made, empty, by somebody with more rights. */
async function makeSchema(connection: Connection): Promise<void> {
  await connection.query(
    `DO $$ BEGIN IF to_regnamespace('lts') IS NULL THEN CREATE SCHEMA lts; END IF; END $$;
     CREATE TABLE lts.migration (version integer PRIMARY KEY, name text NOT NULL, ran_at timestamptz NOT NULL DEFAULT clock_timestamp())`,
    undefined,
  );
}

function refusal(reason: 'STORE_FOREIGN' | 'STORE_NEWER', message: string): PgFailure {
  return new PgFailure(reason, message, { rolledBack: true, kind: 'other' });
}
