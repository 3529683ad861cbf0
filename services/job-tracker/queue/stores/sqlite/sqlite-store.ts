/**
 * The queues in one SQLite file (WAL). This side only packs, sends and waits; two threads of their own do the work.
 *
 *   caller ──packed batch──▶ writer thread ──BEGIN IMMEDIATE … COMMIT (synced)──▶ queue.db
 *     ▲  └──────────────────▶ reader thread ──short read-only queries───────────▶   │
 *     └──outcomes, in order of the calls──┘
 *
 * Writer: commits, take-overs and reads of the owner run one after the other as they arrive. The lower lane (logs,
 * settlements, purge) runs one small transaction between two of them. The log is moved into the file by explicit
 * checkpoints after commits and in idle moments, never inside a commit.
 *
 * Failure: what failed before its COMMIT is rolled back for certain. An I/O error in COMMIT, a passed deadline and a
 * dead thread leave the outcome unknown. After an I/O error the file is opened anew and verified; a second one in a
 * row, or damage, fails the store until the process is restarted. A lock of another process is awaited, its holder is
 * named, and nothing is stolen, copied or deleted. A full disk refuses the commit whole and harms nothing.
 */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
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
  type StoreHealth,
  type StoredOwner,
  type StoreIdentity,
} from '../../queue-store.js';
import type { AttemptRow, InstanceFilter, InstanceRow, InstanceTarget } from '../../status-queries.js';
import { searchPast } from '../search-past.js';
import { packBatch } from './batch-codec.js';
import { unpackOutcomes } from './outcome-codec.js';
import type { StoreFault } from './faults.js';
import { jobsOf } from './packed-jobs.js';
import type { ReaderCalls } from './reader-thread.js';
import type { ScheduleFilter } from './schedule-reads.js';
import { StoreThread, ThreadFailure } from './store-thread.js';
import type { PackedRows, WriterCalls } from './writer-thread.js';
import type { WriterNotice, WriterOptions } from './writer.js';

/** How the store is opened. */
export interface SqliteStoreOptions {
  /** Path of the database file, on a local disk. Made when it is missing. */
  file: string;
  cluster: string;
  partitions: number;
  /** How long a lock of another process is awaited, in milliseconds. Default 10 s. */
  lockWaitMs?: number;
  /** For deadlines on this side of the threads. */
  clock?: Clock;
  /** Time beyond lockWaitMs in which a call must be answered. Default 30 s. */
  answerWithinMs?: number;
  /** How long the threads get to close by themselves before they are ended. Default 10 s. */
  closeWithinMs?: number;
  /** For tests. */
  faults?: readonly StoreFault[];
}

/** The queues in one SQLite file: a thread that writes, a thread that reads. */
export function createSqliteStore(options: SqliteStoreOptions): QueueStore {
  return new SqliteStore(options);
}

/** Instances among which the last one of a task that does not live is searched, the newest first. */
const searchSteps = 40;

class SqliteStore implements QueueStore {
  readonly #options: SqliteStoreOptions;
  readonly #clock: Clock;
  readonly #writer: StoreThread<WriterCalls, WriterNotice>;
  #reader: StoreThread<ReaderCalls, never> | undefined;
  #notice: WriterNotice = { state: 'OK', message: '' };
  #isOpen = false;
  #closed = false;

  constructor(options: SqliteStoreOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const { file, cluster, partitions, lockWaitMs = 10_000, faults = [] } = options;
    const data: WriterOptions = { file, cluster, partitions, lockWaitMs, faults };
    this.#writer = this.#thread('./writer-thread.js', data, lockWaitMs + (options.answerWithinMs ?? 30_000));
  }

  async open(): Promise<StoreIdentity> {
    const identity = await this.#writer.call('open', []);
    this.#isOpen = true;
    return identity;
  }

  take(partitions: readonly number[], owner: OwnerIdentity): Promise<HeldEpoch[]> {
    return this.#writer.call('take', [partitions, owner]);
  }

  release(held: readonly HeldEpoch[]): Promise<void> {
    return this.#writer.call('release', [held]);
  }

  owners(): Promise<StoredOwner[]> {
    return this.#read('owners', []);
  }

  fenced(held: readonly HeldEpoch[]): Promise<number[]> {
    return this.#read('fenced', [held]);
  }

  async load(partition: number): Promise<LoadedPartition> {
    const loaded = await this.#writer.call('load', [partition]);
    loaded.schedules.resting.forEach(withBuffer);
    return loaded;
  }

  readExecuting(partition: number, afterSeq: number, limit: number): Promise<ExecutingRow[]> {
    return this.#writer.call('readExecuting', [partition, afterSeq, limit]);
  }

  recount(nodeGroup: string, most: number): Promise<GroupCounts> {
    return this.#writer.call('recount', [nodeGroup, most]);
  }

  nextDue(partition: number): Promise<number | undefined> {
    return this.#writer.call('nextDue', [partition]);
  }

  async readReady(nodeGroup: string, after: ReadyKey | undefined, limit: number): Promise<ReadyRow[]> {
    return withJobs(await this.#writer.call('readReady', [nodeGroup, after, limit]));
  }

  async commit(batch: CommitBatch): Promise<Outcome[]> {
    const packed = packBatch(batch);
    try {
      return unpackOutcomes(await this.#writer.call('commit', [packed], [packed.numbers.buffer, packed.jobs.buffer]));
    } catch (error) {
      throw commitFailed(error);
    }
  }

  appendLogs(lines: readonly LogRow[]): Promise<void> {
    return this.#writer.call('appendLogs', [lines]);
  }

  readFeedback(submitNodeGroup: string, partitions: readonly number[], afterSeq: number, now: number, limit: number): Promise<FeedbackRow[]> {
    return this.#read('readFeedback', [submitNodeGroup, partitions, afterSeq, now, limit]);
  }

  settleFeedback(settled: FeedbackSettlement): Promise<void> {
    return this.#writer.call('settleFeedback', [settled]);
  }

  resendFeedback(ids: readonly string[], submitNodeGroup: string, now: number): Promise<number> {
    return this.#writer.call('resendFeedback', [ids, submitNodeGroup, now]);
  }

  purge(before: number, limit: number): Promise<number> {
    return this.#writer.call('purge', [before, limit]);
  }

  async findInstance(target: InstanceTarget): Promise<InstanceRow | undefined> {
    if ('id' in target) return withBuffer(await this.#read('findById', [target.id]));
    const { nodeGroup, taskId } = target;
    const live = await this.#read('findLive', [nodeGroup, taskId]);
    if (live !== undefined) return withBuffer(live);
    let before: number | undefined = Number.MAX_SAFE_INTEGER;
    for (let step = 0; step < searchSteps && before !== undefined; step++) {
      const found: ReturnType<ReaderCalls['searchTask']> = await this.#read('searchTask', [nodeGroup, taskId, before]);
      if (found.row !== undefined) return withBuffer(found.row);
      before = found.nextBefore;
    }
    return undefined;
  }

  listInstances(filter: InstanceFilter): Promise<{ rows: InstanceRow[]; nextBefore: number | undefined }> {
    return this.#read('listInstances', [filter]);
  }

  listAttempts(id: string): Promise<AttemptRow[]> {
    return this.#read('listAttempts', [id]);
  }

  listLogs(id: string, attempt: number, afterLine: number, limit: number): Promise<{ rows: LogRow[]; nextAfter: number | undefined }> {
    return this.#read('listLogs', [id, attempt, afterLine, limit]);
  }

  listFeedback(submitNodeGroup: string, deadOnly: boolean, limit: number): Promise<FeedbackRow[]> {
    return this.#read('listFeedback', [submitNodeGroup, deadOnly, limit]);
  }

  countFeedback(): Promise<{ submitNodeGroup: string; owed: number; dead: number }[]> {
    return this.#read('countFeedback', []);
  }

  countBefore(nodeGroup: string, key: ReadyKey, most: number): Promise<number> {
    return this.#read('countBefore', [nodeGroup, key, most]);
  }

  async readSchedules(partition: number, after: ScheduleKey | undefined, until: number, limit: number): Promise<ScheduleRow[]> {
    return withJobs(await this.#writer.call('readSchedules', [partition, after, until, limit]));
  }

  async readSchedule(nodeGroup: string, taskId: string): Promise<ScheduleRow | undefined> {
    return withBuffer(await this.#writer.call('readSchedule', [nodeGroup, taskId]));
  }

  readFreeRuns(nodeGroup: string, taskId: string, limit: number): Promise<GuardedRun[]> {
    return this.#writer.call('readFreeRuns', [nodeGroup, taskId, limit]);
  }

  listSchedules(filter: ScheduleFilter): Promise<ScheduleRow[]> {
    return this.#read('listSchedules', [filter]);
  }

  async findSchedule(nodeGroup: string, taskId: string): Promise<ScheduleRow | undefined> {
    return withBuffer(await this.#read('findSchedule', [nodeGroup, taskId]));
  }

  async findPastSchedule(nodeGroup: string, taskId: string): Promise<PastSchedule | undefined> {
    const past = await searchPast((before) => this.#read('searchPast', [nodeGroup, taskId, before]));
    return past === undefined ? undefined : { ...past, nodeGroup, taskId, job: Buffer.from(past.job) };
  }

  async health(): Promise<StoreHealth> {
    const disk = await statfs(dirname(this.#options.file)).catch(() => undefined);
    const host = { freeBytes: disk === undefined ? 0 : disk.bavail * disk.bsize, clockOffsetMs: 0, warnings: [] };
    return this.#closed ? { state: 'CLOSED', message: '', ...host } : { ...this.#notice, ...host };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#isOpen = false;
    const closeReader = () => this.#reader?.call('close', []);
    const closeWriter = () => this.#writer.call('close', []);
    await Promise.all([this.#end(this.#writer, closeWriter), this.#reader && this.#end(this.#reader, closeReader)]);
  }

  /** A thread that does not close by itself in time is ended. */
  async #end(thread: { end(): Promise<void> }, close: () => Promise<unknown> | undefined): Promise<void> {
    const closing = close()?.catch(() => undefined);
    const enough = new AbortController();
    await Promise.race([closing, this.#clock.sleep(this.#options.closeWithinMs ?? 10_000, enough.signal).catch(() => undefined)]);
    enough.abort();
    await thread.end();
  }

  async #read<K extends keyof ReaderCalls>(name: K, args: Parameters<ReaderCalls[K]>): Promise<ReturnType<ReaderCalls[K]>> {
    if (!this.#isOpen) throw new LtsError('STORE_FAILED', `store ${this.#options.file} is not open`);
    this.#reader ??= this.#thread<StoreThread<ReaderCalls, never>>('./reader-thread.js', { file: this.#options.file }, this.#options.answerWithinMs ?? 30_000);
    return this.#reader.call(name, args);
  }

  #thread<T>(entry: string, data: unknown, deadlineMs: number): T {
    return new StoreThread({
      entry: new URL(entry, import.meta.url),
      data,
      clock: this.#clock,
      deadlineMs,
      onNotice: (notice: WriterNotice) => (this.#notice = notice),
      onDeath: (message) => {
        if (!this.#closed) this.#notice = { state: 'FAILED', message };
      },
    }) as T;
  }
}

/** Packed rows with their jobs. */
function withJobs<T extends { job?: Buffer | undefined }>({ rows, jobLengths, jobs }: PackedRows<T>): T[] {
  const nextJob = jobsOf(jobLengths, jobs);
  for (const row of rows) row.job = nextJob();
  return rows;
}

/** Buffers arrive from another thread as plain bytes. */
function withBuffer<T extends { job: Buffer | undefined } | undefined>(row: T): T {
  if (row?.job !== undefined) row.job = Buffer.from(row.job.buffer, row.job.byteOffset, row.job.length);
  return row;
}

function commitFailed(error: unknown): CommitFailed {
  const { reason, message, rolledBack } = error instanceof ThreadFailure ? error : { reason: 'STORE_FAILED', message: String(error), rolledBack: false };
  const known = reason === 'STORE_LOCKED' || reason === 'STALE_EPOCH' || reason === 'DISK_LOW' ? reason : 'STORE_FAILED';
  return new CommitFailed(known, message, rolledBack, error);
}
