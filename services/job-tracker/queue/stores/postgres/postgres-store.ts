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
 * deadline leave the outcome unknown. Migrations hold what runs in the server; 0002_transitions.sql tells how, the
 * one of schedules what was added for them.
 */
import { LtsError } from '../../../../../shared/errors/lts-error.js';
import { type Clock, systemClock } from '../../../../../shared/time/clock.js';
import {
  type CommitBatch,
  CommitFailed,
  type ExecutingRow,
  type FeedbackRow,
  type FeedbackSettlement,
  type GroupCounts,
  type GuardedRun,
  type HeldEpoch,
  type LoadedPartition,
  type LogRow,
  type Outcome,
  type OwnerIdentity,
  type QueueStore,
  type ReadyKey,
  type ReadyRow,
  type PastSchedule,
  type ScheduleKey,
  type ScheduleRow,
  type StoredOwner,
  type StoreHealth,
  type StoreIdentity,
} from '../../queue-store.js';
import type { AttemptRow, InstanceFilter, InstanceRow, InstanceTarget } from '../../status-queries.js';
import { Clashes, commit } from './commit.js';
import { FeedbackReads } from './feedback-reads.js';
import { ServerHealth } from './health.js';
import { InstanceReads } from './instance-reads.js';
import { Lanes } from './lanes.js';
import type { Migration } from './migrate.js';
import { appendLogs, resendFeedback, settleFeedback } from './low-lane.js';
import { onConnection, openStore } from './open.js';
import { OrderedCalls, type RunStatement } from './ordered-calls.js';
import { load, nextDue, readExecuting, readReady, recount } from './owner-reads.js';
import { fenced, owners, release, take } from './ownership.js';
import { Purge } from './purge.js';
import { QueueReads } from './queue-reads.js';
import { findPastSchedule, findSchedule, listSchedules, readFreeRuns, readSchedule, readSchedules } from './schedule-reads.js';

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
  /** For tests: those of another release. */
  migrations?: readonly Migration[];
}

/** Dropping a day begins with a look at all of it. */
const purgeWithinMs = 600_000;

/** The queues in a PostgreSQL database. */
export function createPostgresStore(options: PostgresStoreOptions): QueueStore {
  return new PostgresStore(options);
}

class PostgresStore implements QueueStore {
  readonly #options: Required<Omit<PostgresStoreOptions, 'migrations'>> & Pick<PostgresStoreOptions, 'migrations'>;
  readonly #lanes: Lanes;
  readonly #ordered: OrderedCalls;
  readonly #health: ServerHealth;
  readonly #instances: InstanceReads;
  readonly #feedback: FeedbackReads;
  readonly #queues: QueueReads;
  readonly #purge: Purge;
  readonly #clashes = new Clashes();
  #isOpen = false;
  #closed = false;

  constructor(options: PostgresStoreOptions) {
    this.#options = { pooled: false, requireSyncReplica: false, who: String(process.pid), clock: systemClock, answerWithinMs: 30_000, ...options };
    const { clock, answerWithinMs, requireSyncReplica } = this.#options;
    this.#lanes = new Lanes(this.#options);
    this.#ordered = new OrderedCalls(this.#lanes.commits, clock, answerWithinMs);
    this.#health = new ServerHealth(this.#lanes, clock, requireSyncReplica);
    this.#instances = new InstanceReads(this.#read);
    this.#feedback = new FeedbackReads(this.#read);
    this.#queues = new QueueReads(this.#read);
    this.#purge = new Purge(this.#low, (work) => onConnection({ ...this.#options, what: 'purge' }, clock, work, purgeWithinMs), clock);
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

  /** Beside the commits: between its take-over and the end of its loading nothing of the partition is committed. */
  load(partition: number): Promise<LoadedPartition> {
    return load(this.#read, partition);
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
    return this.#ordered.run((query) => commit(query, batch, this.#clashes));
  }

  appendLogs(lines: readonly LogRow[]): Promise<void> {
    return appendLogs(this.#low, lines);
  }

  readFeedback(submitNodeGroup: string, partitions: readonly number[], afterSeq: number, now: number, limit: number): Promise<FeedbackRow[]> {
    return this.#feedback.due(submitNodeGroup, partitions, afterSeq, now, limit);
  }

  settleFeedback(settled: FeedbackSettlement): Promise<void> {
    return settleFeedback(this.#low, settled);
  }

  resendFeedback(ids: readonly string[], submitNodeGroup: string, now: number): Promise<number> {
    return resendFeedback(this.#low, ids, submitNodeGroup, now);
  }

  purge(before: number, limit: number): Promise<number> {
    return this.#purge.run(before, limit);
  }

  findInstance(target: InstanceTarget): Promise<InstanceRow | undefined> {
    return this.#instances.find(target);
  }

  listInstances(filter: InstanceFilter): Promise<{ rows: InstanceRow[]; nextBefore: number | undefined }> {
    return this.#instances.list(filter);
  }

  listAttempts(id: string): Promise<AttemptRow[]> {
    return this.#instances.attempts(id);
  }

  listLogs(id: string, attempt: number, afterLine: number, limit: number): Promise<{ rows: LogRow[]; nextAfter: number | undefined }> {
    return this.#queues.logs(id, attempt, afterLine, limit);
  }

  listFeedback(submitNodeGroup: string, deadOnly: boolean, limit: number): Promise<FeedbackRow[]> {
    return this.#feedback.list(submitNodeGroup, deadOnly, limit);
  }

  countFeedback(): Promise<{ submitNodeGroup: string; owed: number; dead: number }[]> {
    return this.#feedback.counts();
  }

  countBefore(nodeGroup: string, key: ReadyKey, most: number): Promise<number> {
    return this.#queues.countBefore(nodeGroup, key, most);
  }

  readSchedules(partition: number, after: ScheduleKey | undefined, until: number, limit: number): Promise<ScheduleRow[]> {
    return this.#run((query) => readSchedules(query, partition, after, until, limit));
  }

  readSchedule(nodeGroup: string, taskId: string): Promise<ScheduleRow | undefined> {
    return this.#run((query) => readSchedule(query, nodeGroup, taskId));
  }

  readFreeRuns(nodeGroup: string, taskId: string, limit: number): Promise<GuardedRun[]> {
    return this.#run((query) => readFreeRuns(query, nodeGroup, taskId, limit));
  }

  listSchedules(filter: Parameters<QueueStore['listSchedules']>[0]): Promise<ScheduleRow[]> {
    return listSchedules(this.#read, filter);
  }

  findSchedule(nodeGroup: string, taskId: string): Promise<ScheduleRow | undefined> {
    return findSchedule(this.#read, nodeGroup, taskId);
  }

  findPastSchedule(nodeGroup: string, taskId: string): Promise<PastSchedule | undefined> {
    return findPastSchedule(this.#read, nodeGroup, taskId);
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
  readonly #low: RunStatement = (text, values) => (this.#isOpen ? this.#lanes.low.query(text, values) : Promise.reject(this.#notOpen()));

  #notOpen(): LtsError {
    return new LtsError('STORE_FAILED', `store ${this.#lanes.server} is not open`);
  }
}
