/**
 * The queues in a PostgreSQL database, for any number of trackers.
 *
 *   owner's calls ──▶ one connection, in order ──SELECT lts.commit(…): one statement, one transaction──▶ schema lts
 *   reads         ──▶ a few connections of their own ──▶
 *   lower lane    ──▶ one connection, small statements ──▶
 *
 * Fence: a commit locks the ownership rows of its partitions and compares their epochs before it changes anything; a
 * take-over raises the epochs under the same locks. So it runs after a commit that came first, or makes it fail. A
 * commit that hangs on the server is ended with its session after 500 ms. No lock outlives a statement, whatever the
 * client does.
 *
 * Failure: an error of the server ends the statement, and nothing of it is stored. A lost connection and a passed
 * deadline leave the outcome unknown. Migrations hold what runs in the server; 0002_transitions.sql tells how.
 */
import { LtsError } from '../../../../../shared/errors/lts-error.js';
import { type Clock, systemClock } from '../../../../../shared/time/clock.js';
import {
  type CommitBatch,
  CommitFailed,
  type ExecutingRow,
  type FeedbackRow,
  type GroupCounts,
  type HeldEpoch,
  type LoadedPartition,
  type Outcome,
  type OwnerIdentity,
  type QueueStore,
  type ReadyKey,
  type ReadyRow,
  type StoredOwner,
  type StoreHealth,
  type StoreIdentity,
} from '../../queue-store.js';
import type { AttemptRow, InstanceRow } from '../../status-queries.js';
import { commit } from './commit.js';
import { ServerHealth } from './health.js';
import { Lanes } from './lanes.js';
import { onConnection, openStore } from './open.js';
import { OrderedCalls, type RunStatement } from './ordered-calls.js';
import { load, nextDue, readExecuting, readReady, recount } from './owner-reads.js';
import { fenced, owners, release, take } from './ownership.js';

/** How the store is opened. */
export interface PostgresStoreOptions {
  /** postgres://user:password@host:port/database?sslmode=… */
  url: string;
  cluster: string;
  partitions: number;
  /** Behind a pooler in transaction mode. Default: false. */
  pooled?: boolean;
  /** Only a server that confirms commits after a stand-by has them. Default: false. */
  requireSyncReplica?: boolean;
  /** Shown in application_name. Default: the process id. */
  who?: string;
  clock?: Clock;
  /** Every call is answered, or given up, within this time. Default 30 s. */
  answerWithinMs?: number;
}

/** The queues in a PostgreSQL database. */
export function createPostgresStore(options: PostgresStoreOptions): QueueStore {
  return new PostgresStore(options);
}

class PostgresStore implements QueueStore {
  readonly #options: Required<PostgresStoreOptions>;
  readonly #lanes: Lanes;
  readonly #ordered: OrderedCalls;
  readonly #health: ServerHealth;
  #isOpen = false;
  #closed = false;

  constructor(options: PostgresStoreOptions) {
    this.#options = { pooled: false, requireSyncReplica: false, who: String(process.pid), clock: systemClock, answerWithinMs: 30_000, ...options };
    const { clock, answerWithinMs, requireSyncReplica } = this.#options;
    this.#lanes = new Lanes(this.#options);
    this.#ordered = new OrderedCalls(this.#lanes.commits, clock, answerWithinMs);
    this.#health = new ServerHealth(this.#lanes, clock, requireSyncReplica);
  }

  async open(): Promise<StoreIdentity> {
    const { clock, ...options } = this.#options;
    const { identity } = await onConnection({ ...options, what: 'open' }, clock, (connection, server) => openStore(connection, server, options));
    this.#isOpen = true;
    return identity;
  }

  take(partitions: readonly number[], owner: OwnerIdentity): Promise<HeldEpoch[]> {
    return this.#run((query) => take(query, partitions, owner, this.#options.clock.now()));
  }

  release(held: readonly HeldEpoch[]): Promise<void> {
    return this.#run((query) => release(query, held));
  }

  owners(): Promise<StoredOwner[]> {
    return owners(this.#read);
  }

  fenced(held: readonly HeldEpoch[]): Promise<number[]> {
    return fenced(this.#read, held);
  }

  load(partition: number): Promise<LoadedPartition> {
    return this.#run((query) => load(query, partition));
  }

  readExecuting(partition: number, afterSeq: number, limit: number): Promise<ExecutingRow[]> {
    return this.#run((query) => readExecuting(query, partition, afterSeq, limit));
  }

  recount(nodeGroup: string, most: number): Promise<GroupCounts> {
    return this.#run((query) => recount(query, nodeGroup, most));
  }

  nextDue(partition: number): Promise<number | undefined> {
    return this.#run((query) => nextDue(query, partition));
  }

  readReady(nodeGroup: string, after: ReadyKey | undefined, limit: number): Promise<ReadyRow[]> {
    return this.#run((query) => readReady(query, nodeGroup, after, limit));
  }

  commit(batch: CommitBatch): Promise<Outcome[]> {
    if (!this.#isOpen) return Promise.reject(new CommitFailed('STORE_FAILED', this.#notOpen().message, true));
    return this.#ordered.run((query) => commit(query, batch));
  }

  appendLogs(): Promise<void> {
    return this.#missing();
  }

  readFeedback(): Promise<FeedbackRow[]> {
    return this.#missing();
  }

  settleFeedback(): Promise<void> {
    return this.#missing();
  }

  resendFeedback(): Promise<number> {
    return this.#missing();
  }

  purge(): Promise<number> {
    return this.#missing();
  }

  findInstance(): Promise<InstanceRow | undefined> {
    return this.#missing();
  }

  listInstances(): Promise<{ rows: InstanceRow[]; nextBefore: number | undefined }> {
    return this.#missing();
  }

  listAttempts(): Promise<AttemptRow[]> {
    return this.#missing();
  }

  listLogs(): Promise<never> {
    return this.#missing();
  }

  listFeedback(): Promise<FeedbackRow[]> {
    return this.#missing();
  }

  countFeedback(): Promise<{ submitNodeGroup: string; owed: number; dead: number }[]> {
    return this.#missing();
  }

  countBefore(): Promise<number> {
    return this.#missing();
  }

  async health(): Promise<StoreHealth> {
    if (this.#closed) return { state: 'CLOSED', message: '', freeBytes: undefined, clockOffsetMs: 0, warnings: [] };
    return this.#health.read();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#isOpen = false;
    await this.#lanes.close();
  }

  #run<T>(work: (query: RunStatement) => Promise<T>): Promise<T> {
    return this.#isOpen ? this.#ordered.run(work) : Promise.reject(this.#notOpen());
  }

  readonly #read: RunStatement = (text, values) => (this.#isOpen ? this.#lanes.read(text, values) : Promise.reject(this.#notOpen()));

  #notOpen(): LtsError {
    return new LtsError('STORE_FAILED', `store ${this.#lanes.server} is not open`);
  }

  #missing(): Promise<never> {
    return Promise.reject(new LtsError('STORE_FAILED', 'not there yet'));
  }
}
