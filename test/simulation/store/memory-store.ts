import { LtsError } from '../../../shared/errors/lts-error.js';
import {
  type CommitBatch, CommitFailed, type ExecutingRow, type FeedbackRow, type FeedbackSettlement, type GroupCounts, type GuardedRun, type HeldEpoch, type LoadedPartition, type LogRow, type Outcome, type OwnerIdentity, type QueueStore,
  type PastSchedule, type ReadyKey, type ReadyRow, type ScheduleKey, type ScheduleRow, type StoredOwner, type StoreHealth, type StoreIdentity,
} from '../../../services/job-tracker/queue/queue-store.js';
import type { AttemptRow, InstanceFilter, InstanceRow, InstanceTarget } from '../../../services/job-tracker/queue/status-queries.js';
import { isRunKey } from '../../../services/job-tracker/queue/task-key.js';
import type { InstanceState } from '../../../services/job-tracker/queue/instance-state.js';
import type { MemoryDatabase } from './memory-database.js';
import { attemptOf, isBefore, type Row } from './rows.js';

/** Lines of one step of the lower lane. */
const stepLines = 200;
/** Instances that one page of a list looks at. */
const scanRows = 5_000;

/** How the statements of a connection reach the database. */
export interface StatementLane {
  /** Runs a statement in the order of the calls. */
  run<T>(name: string, statement: () => T): Promise<T>;
}

/** One statement after the other, each in a turn of its own. */
class TurnByTurn implements StatementLane {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(_name: string, statement: () => T): Promise<T> {
    const result = this.#last.then(statement);
    this.#last = result.catch(() => undefined).then(() => new Promise((resolve) => setImmediate(resolve)));
    return result;
  }
}

/** A connection to the database. */
export class MemoryStore implements QueueStore {
  readonly #db: MemoryDatabase;
  readonly #wanted: { cluster: string; partitions: number };
  readonly #lane: StatementLane;
  readonly #clockOffsetMs: () => number;
  #open = false;

  /** @param clockOffsetMs the store's clock minus the one of the host */
  constructor(db: MemoryDatabase, wanted: { cluster: string; partitions: number } = db, lane: StatementLane = new TurnByTurn(), clockOffsetMs = (): number => 0) {
    this.#db = db;
    this.#wanted = wanted;
    this.#lane = lane;
    this.#clockOffsetMs = clockOffsetMs;
  }

  open(): Promise<StoreIdentity> {
    const { cluster, partitions } = this.#wanted;
    return this.#lane.run('open', () => {
      const db = this.#db;
      if (db.cluster !== cluster) throw new LtsError('STORE_FOREIGN', `the store is of cluster "${db.cluster}", this one is "${cluster}"`);
      if (db.partitions !== partitions) throw new LtsError('CONFIG_INVALID', `the store has ${db.partitions} partitions, configured are ${partitions}`);
      this.#open = true;
      return { storeId: db.storeId, cluster, partitions };
    });
  }

  take(partitions: readonly number[], owner: OwnerIdentity): Promise<HeldEpoch[]> {
    return this.#run('take', (db) => db.take(partitions, owner));
  }

  release(held: readonly HeldEpoch[]): Promise<void> {
    return this.#run('release', (db) => db.release(held));
  }

  owners(): Promise<StoredOwner[]> {
    return this.#run('owners', ({ tables }) => tables.owners.map((owner) => ({ ...owner })));
  }

  fenced(held: readonly HeldEpoch[]): Promise<number[]> {
    return this.#run('fenced', (db) => db.fenced(held));
  }

  load(partition: number): Promise<LoadedPartition> {
    return this.#run('load', (db) => db.load(partition));
  }

  readReady(nodeGroup: string, after: ReadyKey | undefined, limit: number): Promise<ReadyRow[]> {
    return this.#run('readReady', (db) => db.readReady(nodeGroup, after, limit));
  }

  readExecuting(partition: number, afterSeq: number, limit: number): Promise<ExecutingRow[]> {
    return this.#run('readExecuting', (db) => db.readExecuting(partition, afterSeq, limit));
  }

  recount(nodeGroup: string, most: number): Promise<GroupCounts> {
    return this.#run('recount', (db) => db.recount(nodeGroup, most));
  }

  nextDue(partition: number): Promise<number | undefined> {
    return this.#run('nextDue', (db) => db.nextDue(partition));
  }

  commit(batch: CommitBatch): Promise<Outcome[]> {
    if (!this.#open) return Promise.reject(new CommitFailed('STORE_FAILED', 'the store is not open', true));
    return this.#run('commit', (db) => db.commit(batch));
  }

  async appendLogs(lines: readonly LogRow[]): Promise<void> {
    for (let from = 0; from < lines.length; from += stepLines) await this.#run('appendLogs', (db) => db.appendLogs(lines.slice(from, from + stepLines)));
  }

  readFeedback(submitNodeGroup: string, partitions: readonly number[], afterSeq: number, now: number, limit: number): Promise<FeedbackRow[]> {
    return this.#run('readFeedback', (db) => db.readFeedback(submitNodeGroup, partitions, afterSeq, now, limit));
  }

  settleFeedback(settled: FeedbackSettlement): Promise<void> {
    return this.#run('settleFeedback', (db) => db.settleFeedback(settled));
  }

  resendFeedback(ids: readonly string[], submitNodeGroup: string, now: number): Promise<number> {
    return this.#run('resendFeedback', (db) => db.resendFeedback(ids, submitNodeGroup, now));
  }

  purge(before: number, limit: number): Promise<number> {
    return this.#run('purge', (db) => db.purge(before, limit));
  }

  findInstance(target: InstanceTarget): Promise<InstanceRow | undefined> {
    return this.#run('findInstance', (db) => {
      const row = db.tables.byId.get(('id' in target ? target.id : db.newestOf(target)) ?? '');
      return row === undefined || row.state === 'IGNORED' ? undefined : instanceRow(row, row.job);
    });
  }

  listInstances({ nodeGroup, taskId, states, before, limit }: InstanceFilter): Promise<{ rows: InstanceRow[]; nextBefore: number | undefined }> {
    return this.#run('listInstances', ({ tables }) => {
      const older = [...tables.rows.values()].reverse().filter(({ seq }) => seq < (before ?? Number.MAX_SAFE_INTEGER));
      const scanned = older.slice(0, scanRows);
      const found = scanned.filter(
        (row) => row.state !== 'IGNORED' && (nodeGroup === '' || row.nodeGroup === nodeGroup) && (taskId === '' || row.taskId === taskId) && (states.length === 0 || states.includes(stateOf(row))),
      );
      const rows = found.slice(0, limit).map((row) => instanceRow(row, undefined));
      const last = rows.length === limit ? rows.at(-1) : older.length > scanRows ? scanned.at(-1) : undefined;
      return { rows, nextBefore: last?.seq };
    });
  }

  listAttempts(id: string): Promise<AttemptRow[]> {
    return this.#run('listAttempts', ({ tables }) => {
      const row = tables.byId.get(id);
      if (row === undefined) return [];
      const running = row.state === 'EXECUTING' || row.state === 'CANCELLING' ? [attemptOf(row)] : [];
      return [...row.records, ...running].map((record) => ({ ...record }));
    });
  }

  listLogs(id: string, attempt: number, afterLine: number, limit: number): Promise<{ rows: LogRow[]; nextAfter: number | undefined }> {
    return this.#run('listLogs', ({ tables }) => {
      const numbered = (tables.logs.get(id) ?? []).map((row, index) => ({ row, line: index + 1 }));
      const found = numbered.filter(({ row, line }) => line > afterLine && (attempt === 0 || row.attempt === attempt));
      const page = found.slice(0, limit);
      return { rows: page.map(({ row }) => row), nextAfter: found.length > limit ? page.at(-1)?.line : undefined };
    });
  }

  listFeedback(submitNodeGroup: string, deadOnly: boolean, limit: number): Promise<FeedbackRow[]> {
    return this.#run('listFeedback', (db) => {
      const rows = db.owed(submitNodeGroup);
      const alive = deadOnly ? [] : rows.filter(({ dead }) => !dead);
      return [...rows.filter(({ dead }) => dead), ...alive].slice(0, limit);
    });
  }

  countFeedback(): Promise<{ submitNodeGroup: string; owed: number; dead: number }[]> {
    return this.#run('countFeedback', (db) => {
      const rows = db.owed('');
      return [...new Set(rows.map((row) => row.submitNodeGroup))].sort().map((submitNodeGroup) => {
        const ofGroup = rows.filter((row) => row.submitNodeGroup === submitNodeGroup);
        return { submitNodeGroup, owed: ofGroup.length, dead: ofGroup.filter(({ dead }) => dead).length };
      });
    });
  }

  countBefore(nodeGroup: string, key: ReadyKey, most: number): Promise<number> {
    return this.#run('countBefore', ({ tables }) => Math.min(most, tables.in('READY').filter((row) => row.nodeGroup === nodeGroup && isBefore(row, key)).length));
  }

  readSchedules(partition: number, after: ScheduleKey | undefined, until: number, limit: number): Promise<ScheduleRow[]> {
    return this.#run('readSchedules', (db) => db.readSchedules(partition, after, until, limit));
  }

  readSchedule(nodeGroup: string, taskId: string): Promise<ScheduleRow | undefined> {
    return this.#run('readSchedule', (db) => db.readSchedule(nodeGroup, taskId));
  }

  readFreeRuns(nodeGroup: string, taskId: string, limit: number): Promise<GuardedRun[]> {
    return this.#run('readFreeRuns', (db) => db.readFreeRuns(nodeGroup, taskId, limit));
  }

  listSchedules(filter: Parameters<QueueStore['listSchedules']>[0]): Promise<ScheduleRow[]> {
    return this.#run('listSchedules', (db) => db.listSchedules(filter));
  }

  findSchedule(nodeGroup: string, taskId: string): Promise<ScheduleRow | undefined> {
    return this.#run('findSchedule', (db) => db.findSchedule(nodeGroup, taskId));
  }

  findPastSchedule(nodeGroup: string, taskId: string): Promise<PastSchedule | undefined> {
    return this.#run('findPastSchedule', (db) => db.findPastSchedule(nodeGroup, taskId));
  }

  async health(): Promise<StoreHealth> {
    return { state: this.#open ? 'OK' : 'CLOSED', message: '', freeBytes: undefined, clockOffsetMs: this.#clockOffsetMs(), warnings: [] };
  }

  async close(): Promise<void> {
    this.#open = false;
  }

  async #run<T>(name: string, statement: (db: MemoryDatabase) => T): Promise<T> {
    if (!this.#open) throw new LtsError('STORE_FAILED', 'the store is not open');
    return this.#lane.run(name, () => statement(this.#db));
  }
}

function stateOf({ state }: Row): InstanceState {
  return state === 'BLOCKED' ? 'WAITING' : (state as InstanceState);
}

function instanceRow(row: Row, job: Buffer | undefined): InstanceRow {
  const { seq, id, nodeGroup, taskId, type, priority, createdAt, dueAt, key, scheduledAt, endedAt, attempts, retryTimes, lostTimes, message, worker } = row;
  return {
    seq, id, nodeGroup, taskId, type, priority, state: stateOf(row), blocked: row.state === 'BLOCKED', createdAt, dueAt, scheduledAt: isRunKey(key) ? scheduledAt : 0, endedAt, attempts, retryTimes, lostTimes,
    worker: worker.nodeId, message, job,
  };
}
