import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { QueueStore } from '../../services/job-tracker/queue/queue-store.js';
import { createPostgresStore, type PostgresStoreOptions } from '../../services/job-tracker/queue/stores/postgres/postgres-store.js';
import { type Postgres, startPostgres } from '../kit/postgres.js';
import type { StoreBench } from './queue-store-bench.js';

/** A database of its own on a server that many share. */
export class PostgresBench implements StoreBench {
  readonly url: string;
  readonly #server: Postgres;
  readonly #name: string;
  readonly #stores: QueueStore[] = [];

  private constructor(server: Postgres, name: string) {
    this.#server = server;
    this.#name = name;
    this.url = new URL(`/${name}`, server.url).href;
  }

  static async make(server: Postgres): Promise<PostgresBench> {
    const bench = new PostgresBench(server, `bench_${randomBytes(6).toString('hex')}`);
    await sql(server.url, `CREATE DATABASE ${bench.#name}`);
    return bench;
  }

  connect(options: Partial<PostgresStoreOptions> = {}): QueueStore {
    const store = createPostgresStore({ url: this.url, cluster: 'test', partitions: 4, ...options });
    this.#stores.push(store);
    return store;
  }

  /** Runs a statement on a connection of its own. */
  sql<R extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<R[]> {
    return sql(this.url, text, values);
  }

  async destroy(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
    await sql(this.#server.url, `DROP DATABASE ${this.#name} WITH (FORCE)`);
  }
}

/** One server for all benches of a file. */
export class SharedPostgres {
  #server: Promise<Postgres> | undefined;

  async bench(): Promise<PostgresBench> {
    this.#server ??= startPostgres();
    return PostgresBench.make(await this.#server);
  }

  async stop(): Promise<void> {
    await (await this.#server)?.stop();
  }
}

async function sql<R extends pg.QueryResultRow>(url: string, text: string, values: unknown[] = []): Promise<R[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<R>(text, values)).rows;
  } finally {
    await client.end();
  }
}
