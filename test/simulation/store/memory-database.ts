import { LtsError } from '../../../shared/errors/lts-error.js';
import {
  type CommitBatch, CommitFailed, type ExecutingRow, type FeedbackRow, type FeedbackSettlement, type GroupCounts, type GuardedRun, type HeldEpoch, heldUntil, type LoadedPartition, type LogRow, type Outcome,
  type OwnerIdentity, type PastSchedule, type ReadyKey, type ReadyRow, type ScheduleKey, type ScheduleQueries, type ScheduleRow, type StoredOwner, type Transition,
} from '../../../services/job-tracker/queue/queue-store.js';
import { isByHand, isGuarded, isRunKey } from '../../../services/job-tracker/queue/task-key.js';
import { timeOfId } from '../../../shared/ids.js';
import { runsOf } from './end-runs.js';
import { type EndedSchedule, isBefore, readyRow, type Row, type RowState, small, type StoredSchedule, Tables, taskKey } from './rows.js';
import { applyTransition } from './transitions.js';

/** Told of each commit in the order in which they take effect. */
export type CommitListener = (batch: CommitBatch, outcomes: readonly Outcome[]) => void;

/**
 * The database behind QueueStore, in memory: every call is one transaction that has happened when it returns. It outlives
 * all connections.
 */
export class MemoryDatabase {
  readonly tables: Tables;
  /** Runs that one transition takes on at most, whatever it allows. */
  mostRuns = Number.POSITIVE_INFINITY;
  readonly cluster: string;
  readonly storeId: string;
  /** Told of each change right after it. */
  onApplied: (t: Transition, outcome: Outcome) => void = () => undefined;
  onCommit: CommitListener = () => undefined;
  /** Told of each partition that another takes. */
  onTake: (partition: number) => void = () => undefined;

  constructor(cluster: string, partitions: number, storeId: string) {
    this.cluster = cluster;
    this.storeId = storeId;
    this.tables = new Tables(partitions);
  }

  get partitions(): number {
    return this.tables.owners.length;
  }

  commit(batch: CommitBatch): Outcome[] {
    for (const held of batch.epochs) {
      if (this.tables.holds(held)) continue;
      throw new CommitFailed('STALE_EPOCH', `partition ${held.partition} has epoch ${this.tables.owners[held.partition]?.epoch}, the commit came with ${held.epoch}`, true);
    }
    const unheld = batch.transitions.find(({ partition }) => !batch.epochs.some((held) => held.partition === partition));
    if (unheld !== undefined) throw new CommitFailed('STORE_FAILED', `a transition touches partition ${unheld.partition}, but the commit brings no epoch for it`, true);
    const outcomes = batch.transitions.map((asked) => {
      const t = this.#bounded(asked);
      const outcome = applyTransition(this.tables, t);
      this.onApplied(t, outcome);
      return outcome;
    });
    this.onCommit(batch, outcomes);
    return outcomes;
  }

  #bounded(t: Transition): Transition {
    if (t.kind === 'endRuns') return { ...t, most: Math.min(t.most, this.mostRuns) };
    if ((t.kind !== 'alter' && t.kind !== 'cancel') || t.bound === undefined) return t;
    return { ...t, bound: { ...t.bound, most: Math.min(t.bound.most, this.mostRuns) } };
  }

  take(partitions: readonly number[], { nodeId, incarnation }: OwnerIdentity): HeldEpoch[] {
    const unknown = partitions.find((partition) => this.tables.owners[partition] === undefined);
    if (unknown !== undefined) throw new LtsError('CONFIG_INVALID', `the store has no partition ${unknown}`);
    return partitions.map((partition) => {
      const owner = this.tables.owners[partition] as StoredOwner;
      // Who takes its own partition again knows since when its workers are silent.
      if (owner.incarnation !== incarnation) this.onTake(partition);
      Object.assign(owner, { nodeId, incarnation });
      return { partition, epoch: ++owner.epoch };
    });
  }

  release(held: readonly HeldEpoch[]): void {
    for (const each of held) {
      const owner = this.tables.owners[each.partition];
      if (owner?.epoch === each.epoch) Object.assign(owner, { epoch: owner.epoch + 1, nodeId: '', incarnation: '' });
    }
  }

  fenced(held: readonly HeldEpoch[]): number[] {
    return held.filter((each) => !this.tables.holds(each)).map(({ partition }) => partition);
  }

  load(partition: number): LoadedPartition {
    const { tables } = this;
    const rows = [...tables.live.values()].filter((row) => row.partition === partition);
    const names = [...tables.groups].filter(([, group]) => group.partition === partition).map(([name]) => name);
    return {
      groups: names.sort().map((nodeGroup) => {
        const ofGroup = rows.filter((row) => row.nodeGroup === nodeGroup);
        const waiting = ofGroup.filter(({ state }) => state === 'WAITING' || state === 'BLOCKED').length;
        return { nodeGroup, waiting, ready: ofGroup.filter(({ state }) => state === 'READY').length, limits: tables.groups.get(nodeGroup)?.limits };
      }),
      executing: this.readExecuting(partition, 0, Number.POSITIVE_INFINITY),
      nextDueAt: this.nextDue(partition),
      schedules: { guarded: rows.filter(({ key }) => isGuarded(key)).map(guardedRun), resting: this.#schedules((each) => each.partition === partition && each.state === 'ACTIVE' && each.nextAt === undefined).map(ownerSchedule), left: [...tables.left.values()].filter((each) => each.partition === partition).sort((a, b) => a.lastSeq - b.lastSeq).map(({ nodeGroup, taskId, by }) => ({ nodeGroup, taskId, by })) },
    };
  }

  readExecuting(partition: number, afterSeq: number, limit: number): ExecutingRow[] {
    return this.tables
      .in('EXECUTING', 'CANCELLING')
      .filter((row) => row.partition === partition && row.seq > afterSeq)
      .slice(0, limit)
      .map(({ seq, id, nodeGroup, taskId, type, priority, dueAt, scheduledAt, attempts, fence, worker, assignedAt, state, retryTimes, lostTimes, policy }) => ({
        seq, id, nodeGroup, taskId, type, priority, dueAt, scheduledAt, attempt: attempts, fence, worker, assignedAt, cancelling: state === 'CANCELLING', retryTimes, lostTimes, policy,
      }));
  }

  recount(nodeGroup: string, most: number): GroupCounts {
    const { tables } = this;
    const count = (...states: RowState[]): number => tables.in(...states).filter((row) => row.nodeGroup === nodeGroup).length;
    const looked = tables.waiting(tables.groups.get(nodeGroup)?.partition ?? -1).length;
    const [ready, blocked] = [count('READY'), count('BLOCKED')];
    return { waiting: looked > most || blocked > most ? undefined : count('WAITING') + blocked, ready: ready > most ? undefined : ready };
  }

  nextDue(partition: number): number | undefined {
    return this.tables.waiting(partition)[0]?.dueAt;
  }

  readSchedules(partition: number, after: ScheduleKey | undefined, until: number, limit: number): ScheduleRow[] {
    const key = ({ nextAt, sched }: StoredSchedule): ScheduleKey => ({ nextAt: nextAt ?? Number.POSITIVE_INFINITY, sched });
    const comes = (a: ScheduleKey, b: ScheduleKey): number => a.nextAt - b.nextAt || a.sched - b.sched;
    return this.#schedules((each) => each.partition === partition && each.state === 'ACTIVE' && key(each).nextAt <= until && (after === undefined || comes(after, key(each)) < 0))
      .sort((a, b) => comes(key(a), key(b)))
      .slice(0, limit)
      .map(ownerSchedule);
  }

  readSchedule(nodeGroup: string, taskId: string): ScheduleRow | undefined {
    const row = this.tables.schedules.get(taskKey({ nodeGroup, taskId }));
    return row === undefined ? undefined : ownerSchedule(row);
  }

  readFreeRuns(nodeGroup: string, taskId: string, limit: number): GuardedRun[] {
    return runsOf(this.tables, { nodeGroup, taskId }).filter(({ key }) => !isGuarded(key)).sort((a, b) => (a.key < b.key ? -1 : 1)).slice(0, limit).map(guardedRun);
  }

  findSchedule(nodeGroup: string, taskId: string): ScheduleRow | undefined {
    const row = this.tables.schedules.get(taskKey({ nodeGroup, taskId }));
    return row === undefined ? undefined : scheduleRow(row, row.job);
  }

  findPastSchedule(nodeGroup: string, taskId: string): PastSchedule | undefined {
    const past = [...this.tables.past.values()].findLast((each): each is EndedSchedule => 'endedAt' in each && each.nodeGroup === nodeGroup && each.taskId === taskId);
    if (past === undefined) return undefined;
    const times = [...this.tables.rows.values()].filter((row) => row.nodeGroup === nodeGroup && row.taskId === taskId && isRunKey(row.key) && !isByHand(row.key));
    const lastAt = times.findLast(({ state }) => state !== 'MISSED' && state !== 'DISCARDED')?.scheduledAt;
    return { id: past.id, nodeGroup, taskId, endedAt: past.endedAt, job: past.job, lastAt, answeredAt: times.at(-1)?.createdAt };
  }

  listSchedules({ nodeGroup, state, after, limit }: Parameters<ScheduleQueries['listSchedules']>[0]): ScheduleRow[] {
    const place = (each: { nodeGroup: string; taskId: string }): string => `${each.nodeGroup}\n${each.taskId}`;
    return this.#schedules((each) => (nodeGroup === '' || each.nodeGroup === nodeGroup) && (state === undefined || each.state === state) && (after === undefined || place(each) > place(after)))
      .sort((a, b) => (place(a) < place(b) ? -1 : 1))
      .slice(0, limit)
      .map((row) => scheduleRow(row, undefined));
  }

  #schedules(wanted: (each: StoredSchedule) => boolean): StoredSchedule[] {
    return [...this.tables.schedules.values()].filter(wanted);
  }

  readReady(nodeGroup: string, after: ReadyKey | undefined, limit: number): ReadyRow[] {
    return this.tables
      .in('READY')
      .filter((row) => row.nodeGroup === nodeGroup && (after === undefined || isBefore(after, row)))
      .sort((a, b) => (isBefore(a, b) ? -1 : 1))
      .slice(0, limit)
      .map((row) => ({ ...readyRow(row), taskId: row.taskId }));
  }

  appendLogs(lines: readonly LogRow[]): void {
    for (const line of lines) {
      if (!this.tables.byId.has(line.id)) continue;
      const known = this.tables.logs.get(line.id);
      if (known === undefined) this.tables.logs.set(line.id, [line]);
      else known.push(line);
    }
  }

  readFeedback(submitNodeGroup: string, partitions: readonly number[], afterSeq: number, now: number, limit: number): FeedbackRow[] {
    return this.owed(submitNodeGroup)
      .filter((row) => !row.dead && row.seq > afterSeq && row.nextAt <= now && partitions.includes(this.tables.groups.get(row.nodeGroup)?.partition ?? -1))
      .slice(0, limit);
  }

  /** Copies of what is owed to the group, to any when the name is empty, oldest first. */
  owed(submitNodeGroup: string): FeedbackRow[] {
    return [...this.tables.feedback.values()].filter((row) => submitNodeGroup === '' || row.submitNodeGroup === submitNodeGroup).map((row) => ({ ...row }));
  }

  settleFeedback({ taken, failed }: FeedbackSettlement): void {
    for (const id of taken) this.tables.feedback.delete(id);
    for (const { id, message, nextAt, dead } of failed) {
      const row = this.tables.feedback.get(id);
      if (row !== undefined) Object.assign(row, { deliveries: row.deliveries + 1, lastError: message, nextAt, dead });
    }
  }

  resendFeedback(ids: readonly string[], submitNodeGroup: string, now: number): number {
    const wanted = [...this.tables.feedback.values()].filter((row) => row.dead && (ids.length > 0 ? ids.includes(row.id) : row.submitNodeGroup === submitNodeGroup));
    for (const row of wanted) Object.assign(row, { dead: false, deliveries: 0, nextAt: now });
    return wanted.length;
  }

  purge(before: number, limit: number): number {
    const { tables } = this;
    const old = [...tables.rows.values()].filter((row) => !tables.live.has(row.seq) && row.endedAt < before && row.createdAt < before).slice(0, limit);
    for (const { seq, id } of old) {
      tables.rows.delete(seq);
      tables.byId.delete(id);
      tables.feedback.delete(id);
      tables.logs.delete(id);
    }
    const past = [...tables.past.keys()].filter((id) => timeOfId(id) < before);
    for (const id of past) tables.past.delete(id);
    return old.length + past.length;
  }

  /** The newest living instance of a task; the newest one when none lives. */
  newestOf(task: { nodeGroup: string; taskId: string }): string | undefined {
    const newest = (rows: Map<number, Row>): string | undefined => [...rows.values()].findLast((row) => row.state !== 'IGNORED' && row.nodeGroup === task.nodeGroup && row.taskId === task.taskId)?.id;
    return newest(this.tables.live) ?? newest(this.tables.rows);
  }
}

function guardedRun({ seq, id, nodeGroup, key, state, dueAt }: Row): GuardedRun {
  const stands = state !== 'WAITING' ? 'active' : dueAt === heldUntil ? 'held' : 'waiting';
  return { seq, id, nodeGroup, taskKey: key, stands, dueAt };
}

function ownerSchedule(row: StoredSchedule): ScheduleRow {
  return scheduleRow(row, small(row.job));
}

function scheduleRow({ partition: _partition, first: _first, existingId: _existingId, ...row }: StoredSchedule, job: Buffer | undefined): ScheduleRow {
  return { ...row, job };
}
