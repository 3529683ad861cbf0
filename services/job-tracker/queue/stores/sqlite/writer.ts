import type { CommitBatch, ExecutingRow, GroupCounts, GuardedRun, HeldEpoch, LoadedPartition, Outcome, OwnerIdentity, ReadyKey, ReadyRow, ScheduleKey, ScheduleRow, StoreIdentity } from '../../queue-store.js';
import { systemClock } from '../../../../../shared/time/clock.js';
import { applyBatch, applyOneByOne } from './apply-batch.js';
import { Checkpoints } from './checkpoints.js';
import { openForWriting, type Wanted } from './database.js';
import { FactsCache } from './facts-cache.js';
import { FaultPlan, type StoreFault } from './faults.js';
import { lookForSchedules } from './live-schedules.js';
import { LockWait } from './lock-wait.js';
import { Names } from './names.js';
import { OwnerReads } from './owner-reads.js';
import { prepareScheduleSql } from './schedule-sql.js';
import { describeFailure, kindOf, reasonOfDriver } from './sqlite-errors.js';
import { StoreFailure } from './store-failure.js';
import { prepareWriterSql } from './writer-sql.js';
import type { WriterState } from './writer-state.js';

/** What the writer is started with. */
export interface WriterOptions extends Wanted {
  lockWaitMs: number;
  faults: readonly StoreFault[];
}

interface Opened {
  state: WriterState;
  reads: OwnerReads;
  checkpoints: Checkpoints;
  identity: StoreIdentity;
}

/** What the writer tells unasked. */
export type WriterNotice = { state: 'OK' | 'LOCKED' | 'FAILED'; message: string };

/**
 * The one connection that writes. Transactions are BEGIN IMMEDIATE and short. After an I/O error the file is opened
 * anew and verified; a second one in a row, or damage, fails the store for good.
 */
export class Writer {
  readonly #options: WriterOptions;
  readonly #locks: LockWait;
  readonly #faults: FaultPlan;
  readonly #tell: (notice: WriterNotice) => void;
  #open: Opened | undefined;
  #failed: StoreFailure | undefined;
  #ioErrorsInRow = 0;

  constructor(options: WriterOptions, tell: (notice: WriterNotice) => void) {
    this.#options = options;
    this.#tell = tell;
    this.#faults = new FaultPlan(options.faults);
    this.#locks = new LockWait(options.file, options.lockWaitMs, (message) =>
      tell(message === undefined ? { state: 'OK', message: '' } : { state: 'LOCKED', message }),
    );
  }

  open(): StoreIdentity {
    this.#open ??= this.#connect();
    return this.#open.identity;
  }

  commit(batch: CommitBatch): Outcome[] {
    try {
      return this.transact((w) => applyBatch(w, batch));
    } catch (error) {
      if (!(error instanceof StoreFailure) || !error.rolledBack || kindOf(error.cause) !== 'data') throw error;
      return this.transact((w) => applyOneByOne(w, batch));
    }
  }

  take(partitions: readonly number[], owner: OwnerIdentity): HeldEpoch[] {
    return this.transact((w) => {
      const { db, facts, names } = w;
      // Another process may have written since these were read.
      facts.clear();
      names.clear();
      lookForSchedules(w);
      const raise = db.prepare<[string, string, number, number, number], number>(
        'UPDATE ownership SET epoch = epoch + 1, node_id = ?, incarnation = ?, pid = ?, taken_at = ? WHERE part = ? RETURNING epoch',
      );
      return partitions.map((partition) => {
        const epoch = raise.pluck().get(owner.nodeId, owner.incarnation, owner.pid, systemClock.now(), partition);
        if (epoch === undefined) throw new StoreFailure('CONFIG_INVALID', `the store has no partition ${partition}`, true);
        return { partition, epoch };
      });
    });
  }

  /** The epoch is raised, too: what the former owner still sends is fenced. */
  release(held: readonly HeldEpoch[]): void {
    this.transact(({ db }) => {
      const release = db.prepare(
        'UPDATE ownership SET epoch = epoch + 1, node_id = NULL, incarnation = NULL, pid = NULL WHERE part = ? AND epoch = ?',
      );
      for (const { partition, epoch } of held) release.run(partition, epoch);
    });
  }

  load(partition: number): LoadedPartition {
    return this.read((_state, reads) => reads.load(partition));
  }

  readReady(nodeGroup: string, after: ReadyKey | undefined, limit: number): ReadyRow[] {
    return this.read((_state, reads) => reads.readReady(nodeGroup, after, limit));
  }

  readExecuting(partition: number, afterSeq: number, limit: number): ExecutingRow[] {
    return this.read((_state, reads) => reads.readExecuting(partition, afterSeq, limit));
  }

  recount(nodeGroup: string, most: number): GroupCounts {
    return this.read((_state, reads) => reads.recount(nodeGroup, most));
  }

  nextDue(partition: number): number | undefined {
    return this.read((_state, reads) => reads.nextDue(partition));
  }

  readSchedules(partition: number, after: ScheduleKey | undefined, until: number, limit: number): ScheduleRow[] {
    return this.read((_state, { schedules }) => schedules.readSchedules(partition, after, until, limit));
  }

  readSchedule(nodeGroup: string, taskId: string): ScheduleRow | undefined {
    return this.read((_state, { schedules }) => schedules.readSchedule(nodeGroup, taskId));
  }

  readFreeRuns(nodeGroup: string, taskId: string, limit: number): GuardedRun[] {
    return this.read((_state, { schedules }) => schedules.readFreeRuns(nodeGroup, taskId, limit));
  }

  /** Runs work in one transaction; throws StoreFailure. */
  transact<T>(work: (state: WriterState) => T): T {
    const { state } = this.#opened();
    const { db } = state;
    let committing = false;
    try {
      this.#locks.run(() => db.exec('BEGIN IMMEDIATE'), db);
      this.#faults.begin();
      const result = work(state);
      this.#faults.reach('work');
      this.#faults.reach('before-commit');
      committing = true;
      db.exec('COMMIT');
      this.#faults.reach('after-commit');
      this.#ioErrorsInRow = 0;
      return result;
    } catch (error) {
      throw this.#giveUp(state, error, committing);
    }
  }

  /** Moves what the log holds into the file, when it is time. `idle`: nothing waits. */
  checkpoint(idle: boolean): void {
    if (this.#open === undefined) return;
    const { checkpoints, state } = this.#open;
    try {
      checkpoints.run(idle);
    } catch (error) {
      // What was committed is in the log still; an I/O error is handled as in a commit.
      this.#giveUp(state, error, false);
    }
  }

  /** Leaves one file with an empty log. */
  close(): void {
    if (this.#open === undefined) return;
    const { state, checkpoints } = this.#open;
    this.#open = undefined;
    try {
      checkpoints.finish();
    } finally {
      state.db.close();
    }
  }

  #connect(): Opened {
    const { db, identity } = openForWriting(this.#options, this.#locks);
    const state: WriterState = {
      db, sql: prepareWriterSql(db), names: new Names(db), facts: new FactsCache(), schedules: prepareScheduleSql(db), scheduled: new Set(), lastSeq: 0, lastOwed: 0,
    };
    lookForSchedules(state);
    const checkpoints = new Checkpoints(db);
    // What an earlier process, or a failed sync, left in the log may be in memory only: new commits must not stand on it.
    checkpoints.finish();
    return { state, identity, reads: new OwnerReads(state), checkpoints };
  }

  #opened(): Opened {
    if (this.#failed !== undefined) throw this.#failed;
    if (this.#open === undefined) throw new StoreFailure('STORE_FAILED', `store ${this.#options.file} is not open`, true);
    return this.#open;
  }

  /** Reads outside a transaction; throws StoreFailure. */
  read<T>(work: (state: WriterState, reads: OwnerReads) => T): T {
    const { reads, state } = this.#opened();
    try {
      return work(state, reads);
    } catch (error) {
      throw this.#giveUp(state, error, false);
    }
  }

  /** Rolls back and says what is known of the outcome. */
  #giveUp(state: WriterState, error: unknown, committing: boolean): StoreFailure {
    const kind = kindOf(error);
    const rolledBack = rollback(state) && (!committing || kind === 'full' || kind === 'busy');
    state.facts.clear();
    state.names.clear();
    if (error instanceof StoreFailure) return error;
    const reason = reasonOfDriver(error);
    const failure = new StoreFailure(reason, describeFailure(this.#options.file, error), rolledBack, error);
    if (kind === 'io') this.#reopen(failure);
    else if (kind === 'damaged' || kind === 'foreign') this.#fail(failure);
    return failure;
  }

  /** After an I/O error the kernel may have dropped pages: only a file opened anew and verified is trusted, and only once. */
  #reopen(failure: StoreFailure): void {
    this.#ioErrorsInRow++;
    try {
      this.#open?.state.db.close();
      this.#open = undefined;
      if (this.#ioErrorsInRow > 1) throw failure;
      this.#open = this.#connect();
    } catch (error) {
      this.#fail(error instanceof StoreFailure ? error : failure);
    }
  }

  #fail(failure: StoreFailure): void {
    this.#failed = new StoreFailure(failure.reason, `${failure.message}; the store has failed: look at the disk, then restart`, true, failure);
    this.#tell({ state: 'FAILED', message: this.#failed.message });
  }
}

/** Whether nothing of the open transaction can be stored any more. */
function rollback({ db }: WriterState): boolean {
  try {
    if (db.inTransaction) db.exec('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}
