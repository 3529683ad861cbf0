import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QueueStore } from '../../services/job-tracker/queue/queue-store.js';
import { createSqliteStore, type SqliteStoreOptions } from '../../services/job-tracker/queue/stores/sqlite/sqlite-store.js';
import type { StoreBench } from './queue-store-bench.js';

/** A folder of its own with one database file. */
export class SqliteBench implements StoreBench {
  readonly folder: string;
  readonly file: string;
  readonly #stores: QueueStore[] = [];

  constructor(folder = mkdtempSync(join(tmpdir(), 'lts-store-'))) {
    this.folder = folder;
    this.file = join(folder, 'queue.db');
  }

  connect(options: Partial<SqliteStoreOptions> = {}): QueueStore {
    const store = createSqliteStore({ file: this.file, cluster: 'test', partitions: 4, lockWaitMs: 5_000, ...options });
    this.#stores.push(store);
    return store;
  }

  async close(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
  }

  async destroy(): Promise<void> {
    await this.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
