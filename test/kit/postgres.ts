import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { eventually } from './eventually.js';
import { OwnServer, type OsUser, serverFolder } from './own-server.js';
import { lastingPort } from './ports.js';

/** Where Debian and Ubuntu put each version's programs. */
const versionsFolder = '/usr/lib/postgresql';

export interface PostgresOptions {
  /** Where the private folder is made. Default: the system's temporary folder. */
  parent?: string;
  /** Settings of postgresql.conf that differ from the defaults. */
  settings?: Record<string, string>;
}

/** A private PostgreSQL with the durability of its defaults: fsync on, synchronous_commit on. */
export interface Postgres {
  /** For pg and everything that takes a connection string. */
  url: string;
  port: number;
  /** Process id of the postmaster, of its newest life. */
  readonly pid: number;
  /** Ends it by a signal and keeps its data: SIGQUIT is PostgreSQL's immediate shutdown. Resolves when it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again on the same port after it has ended; resolves when it takes connections. */
  restart(): Promise<void>;
  /** Stops it and deletes its data. */
  stop(): Promise<void>;
}

/** Starts a new, empty PostgreSQL on 127.0.0.1 with the newest version that is installed. Takes about 2 s. */
export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const programs = postgresPrograms();
  const user = serverUser();
  const folder = serverFolder('postgres', options.parent, user);
  const data = join(folder, 'data');
  // Only the making of the empty database skips fsync; the server itself does not.
  execFileSync(join(programs, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale', 'C.UTF-8'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    ...user,
  });
  const port = await lastingPort();
  const settings = Object.entries(options.settings ?? {}).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = new OwnServer({
    name: 'postgres',
    command: join(programs, 'postgres'),
    args: ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', folder, ...settings],
    folder,
    stopSignal: 'SIGINT',
    user,
  });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const probe = async (): Promise<void> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.end();
  };
  await server.ready(probe);
  return {
    url,
    port,
    get pid() {
      return server.pid;
    },
    kill: (signal) => server.kill(signal),
    restart: () =>
      // Processes of its last life that still end keep a new one from starting.
      eventually(
        async () => {
          server.restart();
          await probe();
          return true;
        },
        { withinMs: 30_000, everyMs: 100, what: 'PostgreSQL takes connections again' },
      ).then(() => undefined),
    stop: () => server.stop(),
  };
}

/** The folder of the programs of the newest version that is installed. */
export function postgresPrograms(): string {
  const versions = existsSync(versionsFolder) ? readdirSync(versionsFolder) : [];
  const newest = versions.filter((version) => existsSync(join(versionsFolder, version, 'bin/initdb'))).toSorted((a, b) => Number(b) - Number(a))[0];
  if (newest !== undefined) return join(versionsFolder, newest, 'bin');
  throw new Error(
    `PostgreSQL is not installed: no ${versionsFolder}/*/bin/initdb. On Debian or Ubuntu: sudo apt-get install --no-install-recommends postgresql`,
  );
}

/** PostgreSQL refuses to run as root: then it runs as the user that its package made. */
export function serverUser(): OsUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (option: string): number => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
