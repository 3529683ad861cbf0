import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LtsError } from '../../../../../shared/errors/lts-error.js';
import type { Clock } from '../../../../../shared/time/clock.js';
import type { StoreIdentity } from '../../queue-store.js';
import { restoredEpochs, type StoreReport, type StoreTools } from '../../store-tools.js';
import type { Connection } from './connection.js';
import { findProblems } from './invariants.js';
import { migrations, presentVersions } from './migrate.js';
import { onConnection, openStore, type Wanted } from './open.js';

/** A check looks at everything that lives; a backup or a contracting migration may take long, too. */
const withinMs = 3_600_000;

/** Tools on the schema lts of one database. */
export class PostgresTools implements StoreTools {
  readonly #url: string;
  readonly #pooled: boolean;
  readonly #wanted: Wanted;
  readonly #clock: Clock;

  constructor(url: string, pooled: boolean, wanted: Wanted, clock: Clock) {
    this.#url = url;
    this.#pooled = pooled;
    this.#wanted = wanted;
    this.#clock = clock;
  }

  check(): Promise<StoreReport> {
    return this.#connected('check', async (connection, server) => {
      const present = await presentVersions(connection, server, migrations);
      if (present === undefined) throw new LtsError('NOT_FOUND', `${server} has no store; check postgresUrl`);
      const { rows } = await connection.query<StoreIdentity & Record<string, unknown>>('SELECT store_id AS "storeId", cluster, partitions FROM lts.meta', undefined);
      const identity = rows[0];
      if (identity === undefined) throw new LtsError('STORE_DAMAGED', `store ${server}: lts.meta is empty; restore it from a backup`);
      const problems = migrations.filter(({ version }) => !present.has(version)).map(({ name }) => `migration ${name} has not run; see lts store migrate`);
      if (identity.cluster !== this.#wanted.cluster) problems.push(`it is of cluster "${identity.cluster}", the settings say "${this.#wanted.cluster}"`);
      problems.push(...(await findProblems(connection)));
      return { store: server, identity, schema: Math.max(0, ...present), problems };
    });
  }

  migrate(): Promise<string[]> {
    return this.#connected('migrate', async (connection, server) => (await openStore(connection, server, { ...this.#wanted, contract: true })).migrated.ran);
  }

  /** Locks the rows in the order in which commits lock them. */
  raiseEpochs(): Promise<void> {
    return this.#connected('adopt', async (connection) => {
      await connection.query(
        `WITH locked AS (SELECT part FROM lts.ownership ORDER BY part FOR UPDATE) UPDATE lts.ownership o SET epoch = epoch + $1 FROM locked WHERE o.part = locked.part`,
        [restoredEpochs],
      );
    });
  }

  async backup(file: string): Promise<void> {
    if (existsSync(file)) throw new LtsError('INVALID_ARGUMENT', `${file} exists; name a new file`);
    const { address, password } = forLibpq(this.#url);
    const secrets = mkdtempSync(join(tmpdir(), 'lts-backup-'));
    const unfinished = `${file}.unfinished`;
    try {
      const target = new URL(address);
      if (password !== '') {
        const passfile = join(secrets, 'pgpass');
        writeFileSync(passfile, `*:*:*:*:${password.replaceAll(/([\\:])/g, String.raw`\$1`)}\n`, { mode: 0o600 });
        target.searchParams.set('passfile', passfile);
      }
      await dump(['--no-password', '--format=custom', '--schema=lts', `--file=${unfinished}`, target.href], `pg_dump --format=custom --schema=lts --file=${file} '${address}'`);
      renameSync(unfinished, file);
    } finally {
      rmSync(secrets, { recursive: true, force: true });
      rmSync(unfinished, { force: true });
    }
  }

  #connected<T>(what: string, work: (connection: Connection, server: string) => Promise<T>): Promise<T> {
    return onConnection({ url: this.#url, what, who: String(process.pid), pooled: this.#pooled }, this.#clock, work, withinMs);
  }
}

/** The address for programs of PostgreSQL, without the password, which all users of this host could see. */
export function forLibpq(url: string): { address: string; password: string } {
  const address = new URL(url);
  const password = decodeURIComponent(address.password);
  address.password = '';
  // The one word of ours that they do not know.
  if (address.searchParams.get('sslmode') === 'no-verify') address.searchParams.set('sslmode', 'require');
  return { address: address.href, password };
}

function dump(args: readonly string[], byHand: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('pg_dump', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (bytes: Buffer) => (said = (said + bytes.toString('utf8')).slice(-2_000)));
    child.on('error', () => reject(new LtsError('UNSUPPORTED', `pg_dump is not on the PATH; install PostgreSQL's client, or run where it is: ${byHand}`)));
    child.on('close', (code) => (code === 0 ? resolve() : reject(new LtsError('STORE_FAILED', `pg_dump ended with code ${code}: ${said.trim()}`))));
  });
}
