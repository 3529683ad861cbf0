import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { LtsError } from '../../../../../shared/errors/lts-error.js';
import type { Clock } from '../../../../../shared/time/clock.js';
import { withDeadline } from '../../../../../shared/time/deadline.js';
import type { StoreIdentity } from '../../queue-store.js';
import { Connection, type ConnectionOptions, serverName } from './connection.js';
import { acksNotDurable } from './durability.js';
import { makeDaysSql } from './history-days.js';
import { alone, type Migrated, migrate, type Migration, migrations } from './migrate.js';
import { failureOf, PgFailure } from './pg-errors.js';
import { acksNotReplicated } from './replication.js';

/** What the store shall be. */
export interface Wanted {
  cluster: string;
  /** Undefined: as many as it has. */
  partitions: number | undefined;
  /** Only a server that confirms commits after a stand-by has them. */
  requireSyncReplica: boolean;
  /** Default: those of this release. */
  migrations?: readonly Migration[] | undefined;
  /** Contracting migrations run, too. */
  contract?: boolean | undefined;
}

/** The oldest server on which the store's tests pass. */
const oldestServer = 14;
/** The whole opening, migrations included. */
const openWithinMs = 60_000;

/** Opens a connection for work of several statements, and closes it. Rejects with PgFailure. */
export async function onConnection<T>(
  options: Omit<ConnectionOptions, 'statementTimeoutMs'>,
  clock: Clock,
  work: (connection: Connection, server: string) => Promise<T>,
  withinMs = openWithinMs,
): Promise<T> {
  const server = serverName(options.url);
  let connection: Connection | undefined;
  try {
    connection = await Connection.make({ ...options, statementTimeoutMs: 0 }, clock);
    const result = await withDeadline(work(connection, server), withinMs, `the work on store ${server}`, clock);
    await connection.close();
    return result;
  } catch (error) {
    connection?.destroy(error);
    throw error instanceof LtsError ? error : failureOf(server, error, connection !== undefined);
  }
}

/** Makes the store when there is none, brings its schema up to date, and checks that it is the wanted one. */
export async function openStore(connection: Connection, server: string, wanted: Wanted): Promise<{ identity: StoreIdentity; migrated: Migrated }> {
  await refuseUnfit(connection, server, wanted);
  const opened = await alone(connection, async () => {
    const migrated = await migrate(connection, server, wanted.migrations ?? migrations, wanted.contract ?? false);
    return { identity: await identify(connection, server, wanted), migrated };
  });
  await connection.query(makeDaysSql, undefined);
  return opened;
}

/** Settings of the server with which it could lose what it has confirmed, or cannot hold what is written. */
async function refuseUnfit(connection: Connection, server: string, { requireSyncReplica }: Wanted): Promise<void> {
  const { rows } = await connection.query<{ version: number; encoding: string; isolation: string }>(
    `SELECT current_setting('server_version_num')::int / 10000 AS version, current_setting('server_encoding') AS encoding,
       current_setting('default_transaction_isolation') AS isolation`,
    undefined,
  );
  const { version = 0, encoding = '', isolation = '' } = rows[0] ?? {};
  if (version < oldestServer) throw refusal('CONFIG_INVALID', `the server of ${server} is PostgreSQL ${version}; ${oldestServer} or newer is needed`);
  if (encoding !== 'UTF8') throw refusal('CONFIG_INVALID', `database ${server} has encoding ${encoding}; make one with encoding UTF8`);
  // Only then does a commit that waited for the lock of an ownership row see what is stored there now.
  if (isolation !== 'read committed') throw refusal('CONFIG_INVALID', `store ${server}: default_transaction_isolation is ${isolation}; set it to 'read committed', for the user of postgresUrl or for the database`);
  const query = <R extends pg.QueryResultRow>(text: string): Promise<pg.QueryResult<R>> => connection.query<R>(text, undefined);
  const unsafe = (await acksNotDurable(query)) ?? (requireSyncReplica ? await acksNotReplicated(query, true) : undefined);
  if (unsafe !== undefined) throw refusal('STORE_UNSAFE', `store ${server}: ${unsafe}`);
}

/** Reads who the store is; a new one gets its identity. */
async function identify(connection: Connection, server: string, { cluster, partitions }: Wanted): Promise<StoreIdentity> {
  const { rows } = await connection.query<StoreIdentity & Record<string, unknown>>('SELECT store_id AS "storeId", cluster, partitions FROM lts.meta', undefined);
  const found = rows[0];
  if (found === undefined) return establish(connection, { storeId: randomUUID(), cluster, partitions: partitions ?? 1 });
  if (found.cluster !== cluster) {
    throw refusal('STORE_FOREIGN', `store ${server} is of cluster "${found.cluster}", not "${cluster}"; name the right database`);
  }
  if (partitions !== undefined && found.partitions !== partitions) {
    throw refusal('CONFIG_INVALID', `store ${server} was made with ${found.partitions} partitions, the settings say ${partitions}; set ${found.partitions}`);
  }
  return found;
}

async function establish(connection: Connection, identity: StoreIdentity): Promise<StoreIdentity> {
  await connection.query('INSERT INTO lts.meta (one, store_id, cluster, partitions) VALUES (1, $1, $2, $3)', [identity.storeId, identity.cluster, identity.partitions]);
  await connection.query('INSERT INTO lts.ownership (part, epoch) SELECT part, 0 FROM generate_series(0, $1::int - 1) AS part', [identity.partitions]);
  return identity;
}

function refusal(reason: 'STORE_FOREIGN' | 'CONFIG_INVALID' | 'STORE_UNSAFE', message: string): PgFailure {
  return new PgFailure(reason, message, { rolledBack: true, kind: 'other' });
}
