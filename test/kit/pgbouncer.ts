import { chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { OwnServer, serverFolder } from './own-server.js';
import { freePort } from './ports.js';
import { type Postgres, serverUser } from './postgres.js';

/** A pooler in transaction mode before a server: no session of a client outlives its transaction. */
export interface PgBouncer {
  /** The same database, by way of the pooler. */
  urlOf: (url: string) => string;
  stop(): Promise<void>;
}

/** Starts PgBouncer in front of a PostgreSQL. */
export async function startPgBouncer(server: Postgres): Promise<PgBouncer> {
  const user = serverUser();
  const folder = serverFolder('pgbouncer', undefined, user);
  const port = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `* = host=127.0.0.1 port=${server.port} user=postgres`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    // Fewer sessions than the store has connections: they really share them.
    'default_pool_size = 3',
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  if (user !== undefined) chownSync(file, user.uid, user.gid);
  const process = new OwnServer({ name: 'pgbouncer', command: '/usr/sbin/pgbouncer', args: [file], folder, stopSignal: 'SIGINT', user });
  const urlOf = (url: string): string => {
    const through = new URL(url);
    through.port = String(port);
    return through.href;
  };
  await process.ready(async () => {
    const client = new pg.Client({ connectionString: urlOf(server.url) });
    await client.connect();
    await client.end();
  });
  return { urlOf, stop: () => process.stop() };
}
