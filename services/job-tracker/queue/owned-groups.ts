import { partitionOf } from '../../../shared/partition.js';
import type { ExecutingRow, GroupLimits, HeldEpoch, LoadedPartition } from './queue-store.js';
import { ReadySet } from './ready-set.js';
import { StartGate } from './start-gate.js';

/** The queues of one node group, as its owner keeps them in memory. */
export interface GroupQueue {
  readonly name: string;
  readonly partition: number;
  readonly ready: ReadySet;
  /** Its limits, and what they let begin. */
  readonly gate: StartGate;
  /** Rows in the store that wait for their time, their retry or a run of the same task. */
  waiting: number;
  /** Rows in the store that are ready, whether in memory or not. */
  readyCount: number;
  executing: number;
  /** Admissions on their way into the store that are not handed out directly. */
  admitting: number;
  /** A read of ready rows is on its way. */
  refilling: boolean;
  /** Likely size of a job that is not in memory because it is large. */
  largeJobBytes: number;
}

/** A partition that this tracker owns and has loaded. */
export interface OwnedPartition extends HeldEpoch {
  /** Fences given out under this epoch. */
  fences: number;
  nextDueAt: number | undefined;
  /** It is about to be released: nothing of it is admitted or started any more, what is on its way is still stored. */
  leaving: boolean;
  /** When the store was last asked, and had this epoch: monotonic milliseconds. Until then for certain nobody else had it. */
  confirmedAt: number;
}

/** An attempt that a worker has. */
export interface Execution extends Omit<ExecutingRow, 'taskId'> {
  partition: number;
  /** Its end is on its way into the store. */
  finishing: boolean;
  /** That it is sent again is on its way into the store: nobody else may send it. */
  resending: boolean;
  /** What its message begins with when it ends CANCELLED, as far as this tracker knows: the run for whose sake it ends. */
  cancelReason: string;
  /** Its worker has it for all that is known: it was sent or listed, and no list has lacked it since. */
  held: boolean;
  progress: number;
  progressText: string;
}

/** Its owner alone does what is to be done once for the whole store. */
const choresPartition = 0;

/** Fences of one epoch are below this; epochs stay below 2^21, so that a fence is an exact number. */
const fencesPerEpoch = 2 ** 32;

/** Ready rows of a group that are in memory in any case. */
const fewestInMemory = 64;

/** Taken for the size of a large job before one was seen. */
const unknownJobBytes = 256 * 1024;

/** All that the owner keeps in memory of the partitions that it owns. */
export class OwnedGroups {
  readonly partitions = new Map<number, OwnedPartition>();
  readonly groups = new Map<string, GroupQueue>();
  /** By instance id. */
  readonly executions = new Map<string, Execution>();
  /** Number of partitions of the store; known when it is open. */
  total = 1;
  readonly #readyInMemory: number;
  /** By group, the tasks of which nothing begins, and how many hold each back. A load of the partition changes nothing of it. */
  readonly #halts = new Map<string, Map<string, number>>();

  /** @param readyInMemory bound of ready rows in memory over all groups */
  constructor(readyInMemory: number) {
    this.#readyInMemory = readyInMemory;
  }

  /** Puts a loaded partition in place of whatever was there. */
  adopt(held: HeldEpoch, loaded: LoadedPartition): void {
    this.drop(held.partition);
    this.partitions.set(held.partition, { ...held, fences: 0, nextDueAt: loaded.nextDueAt, leaving: false, confirmedAt: Number.NEGATIVE_INFINITY });
    for (const { nodeGroup, waiting, ready, limits } of loaded.groups) {
      const group = this.#make(nodeGroup, held.partition, ready === 0);
      group.waiting = waiting;
      group.readyCount = ready;
      if (limits !== undefined) this.limit(group, limits);
    }
    for (const row of loaded.executing) this.execute(row, held.partition);
  }

  /** The store, asked at that moment (monotonic milliseconds), had these epochs. */
  confirm(held: readonly HeldEpoch[], at: number): void {
    for (const { partition, epoch } of held) {
      const owned = this.partitions.get(partition);
      if (owned?.epoch === epoch) owned.confirmedAt = at;
    }
  }

  /** An attempt that the store knows. */
  execute(row: Omit<ExecutingRow, 'taskId'>, partition: number): Execution {
    // Member by member: on this path, once a job, copying a row of any shape takes four microseconds.
    const execution: Execution = {
      seq: row.seq,
      id: row.id,
      nodeGroup: row.nodeGroup,
      type: row.type,
      priority: row.priority,
      dueAt: row.dueAt,
      scheduledAt: row.scheduledAt,
      attempt: row.attempt,
      fence: row.fence,
      worker: row.worker,
      assignedAt: row.assignedAt,
      cancelling: row.cancelling,
      retryTimes: row.retryTimes,
      lostTimes: row.lostTimes,
      policy: row.policy,
      partition,
      finishing: false,
      resending: false,
      cancelReason: '',
      held: false,
      progress: 0,
      progressText: '',
    };
    this.executions.set(row.id, execution);
    this.group(row.nodeGroup, partition).executing++;
    return execution;
  }

  /** Forgets a partition that is not owned any more. */
  drop(partition: number): void {
    this.partitions.delete(partition);
    for (const [name, group] of this.groups) {
      if (group.partition !== partition) continue;
      group.gate.close();
      this.groups.delete(name);
    }
    for (const [id, execution] of this.executions) if (execution.partition === partition) this.executions.delete(id);
  }

  /** Whether what is to be done once for the whole store is to be done here. */
  get hasChores(): boolean {
    return this.isOpen(choresPartition);
  }

  /** Whether the partition is owned and stays so, as far as is known: only then its work is begun. */
  isOpen(partition: number): boolean {
    return this.partitions.get(partition)?.leaving === false;
  }

  partitionOf(nodeGroup: string): number {
    return this.groups.get(nodeGroup)?.partition ?? partitionOf(nodeGroup, this.total);
  }

  /** The queues of a group; made when it is new. */
  group(name: string, partition: number): GroupQueue {
    return this.groups.get(name) ?? this.#make(name, partition, true);
  }

  /** The limits hold from now on. A group that may start little keeps little in memory. */
  limit(group: GroupQueue, limits: GroupLimits): void {
    group.gate.set(limits);
    group.ready.resize(Math.max(fewestInMemory, Math.min(limits.maxRunning ?? Infinity, limits.startsPerSecond ?? Infinity)));
  }

  /** Nothing of the task is handed out from now on, until `goOn` is called as often. */
  halt(name: string, taskId: string): void {
    const tasks = this.#halts.get(name) ?? new Map<string, number>();
    this.#halts.set(name, tasks.set(taskId, (tasks.get(taskId) ?? 0) + 1));
    this.groups.get(name)?.ready.reset();
  }

  /** What was passed over is read again. */
  goOn(name: string, taskId: string): void {
    const tasks = this.#halts.get(name);
    const halts = (tasks?.get(taskId) ?? 0) - 1;
    if (halts > 0) tasks?.set(taskId, halts);
    else tasks?.delete(taskId);
    if (tasks?.size === 0) this.#halts.delete(name);
    this.groups.get(name)?.ready.reset();
  }

  /** Whether a task of the group is halted. */
  hasHalted(name: string): boolean {
    return this.#halts.size > 0 && this.#halts.has(name);
  }

  isHalted(name: string, taskId: string): boolean {
    return this.#halts.get(name)?.has(taskId) === true;
  }

  /** Whether the partition is still owned under the epoch of this token: what was begun under an older one was loaded since. */
  isOf(partition: number, fence: number): boolean {
    return this.partitions.get(partition)?.epoch === Math.floor(fence / fencesPerEpoch);
  }

  /** The token of the next attempt: greater than that of every earlier one of the partition. */
  nextFence(partition: OwnedPartition): number {
    return partition.epoch * fencesPerEpoch + ++partition.fences;
  }

  #make(name: string, partition: number, complete: boolean): GroupQueue {
    const capacity = Math.min(4_096, Math.max(fewestInMemory, Math.floor(this.#readyInMemory / (this.groups.size + 1))));
    const group: GroupQueue = {
      name,
      partition,
      ready: new ReadySet(capacity, complete),
      gate: new StartGate(),
      waiting: 0,
      readyCount: 0,
      executing: 0,
      admitting: 0,
      refilling: false,
      largeJobBytes: unknownJobBytes,
    };
    this.groups.set(name, group);
    return group;
  }
}
