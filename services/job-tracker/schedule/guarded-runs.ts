import type { GuardedRun } from '../queue/queue-store.js';
import { isByHand, isGuarded, taskIdOf, type TaskKey } from '../queue/task-key.js';

/** A live run as the owner knows it. */
export interface OwnedRun extends Pick<GuardedRun, 'id' | 'taskKey' | 'stands'> {
  /** Given by the store; undefined while the run is on its way into it. */
  seq: number | undefined;
  task: GuardedTask;
}

/** The live runs of one schedule that limits how many live at once. */
export interface GuardedTask {
  readonly partition: number;
  readonly nodeGroup: string;
  readonly taskId: string;
  /** How many may go at once. After a take-over 1 until a fire tells better. */
  limit: number;
  /** In the order in which they were made. */
  runs: OwnedRun[];
  /** Runs from when the schedule had no limit are among them: it was looked for them. */
  counted: boolean;
  /** There were more of these than are kept. */
  more: boolean;
}

/** Where the runs of one schedule are found. */
export function taskName(nodeGroup: string, taskId: string): string {
  return `${nodeGroup}\n${taskId}`;
}

/** Runs that are not held: they go, or wait for their retry. */
export function going(task: GuardedTask): number {
  let count = 0;
  for (const { stands } of task.runs) if (stands !== 'held') count++;
  return count;
}

/** Whether a run for a scheduled time lives: neither one by hand nor none. */
export function hasScheduledRun(task: GuardedTask | undefined): boolean {
  return task !== undefined && task.runs.some(({ taskKey }) => !isByHand(taskKey));
}

/**
 * The live guarded runs of the owned partitions, by schedule, and those from when a schedule had no limit, once it was
 * looked for them (free-runs.ts). Fed by the load of a partition, by fires, ends, cancels and
 * retries, in the order of their commits. A run that is on its way into the store counts already: its place is taken.
 */
export class GuardedRuns {
  readonly #tasks = new Map<string, GuardedTask>();
  readonly #byId = new Map<string, OwnedRun>();
  readonly #ended: (task: GuardedTask) => void;

  /** @param ended a run of this task has ended, or came to nothing */
  constructor(ended: (task: GuardedTask) => void) {
    this.#ended = ended;
  }

  /** In place of whatever was known of the partition. */
  load(partition: number, rows: readonly GuardedRun[]): void {
    this.drop(partition);
    for (const { seq, id, nodeGroup, taskKey, stands } of rows.toSorted((a, b) => a.seq - b.seq)) {
      this.#add(this.#task(partition, nodeGroup, taskIdOf(taskKey)), { id, taskKey, stands, seq });
    }
  }

  drop(partition: number): void {
    for (const [name, task] of this.#tasks) {
      if (task.partition !== partition) continue;
      this.#tasks.delete(name);
      for (const { id } of task.runs) this.#byId.delete(id);
    }
  }

  find(nodeGroup: string, taskId: string): GuardedTask | undefined {
    return this.#tasks.get(taskName(nodeGroup, taskId));
  }

  /** Whether this run lives, or is on its way into the store. */
  has(id: string): boolean {
    return this.#byId.has(id);
  }

  all(): Iterable<GuardedTask> {
    return this.#tasks.values();
  }

  /** Runs go on their way into the store. */
  begin(partition: number, nodeGroup: string, taskId: string, limit: number, runs: readonly { id: string; taskKey: TaskKey; held: boolean }[]): void {
    const guarded = runs.filter(({ taskKey }) => isGuarded(taskKey));
    if (guarded.length === 0) return;
    const task = this.#task(partition, nodeGroup, taskId);
    task.limit = Math.max(1, limit);
    if (task.runs.length === 0) task.counted = true;
    for (const { id, taskKey, held } of guarded) this.#add(task, { id, taskKey, stands: held ? 'held' : 'active', seq: undefined });
  }

  /** Live runs from when the schedule had no limit. `more`: there are further ones. */
  count(partition: number, nodeGroup: string, taskId: string, rows: readonly GuardedRun[], more: boolean): void {
    const known = this.find(nodeGroup, taskId);
    if (known === undefined && rows.length === 0) return;
    const task = known ?? this.#task(partition, nodeGroup, taskId);
    for (const { id, taskKey, stands, seq } of rows) if (!this.#byId.has(id)) this.#add(task, { id, taskKey, stands, seq });
    task.counted = true;
    task.more = more;
  }

  /** The schedule is another one by now: it may have had no limit meanwhile. */
  replaced(nodeGroup: string, taskId: string): void {
    const task = this.find(nodeGroup, taskId);
    if (task !== undefined) this.#recount(task);
  }

  /** A run is in the store. */
  made(id: string, seq: number): void {
    const run = this.#byId.get(id);
    if (run === undefined) return;
    run.seq = seq;
    // Others may have ended while it was on its way.
    if (run.stands === 'held') this.#ended(run.task);
  }

  /** A run has ended for good, or did not come into the store. */
  ended(id: string): void {
    const run = this.#byId.get(id);
    if (run === undefined) return;
    const { task } = run;
    this.#byId.delete(id);
    task.runs = task.runs.filter((each) => each !== run);
    if (task.more && task.runs.every(({ taskKey }) => isGuarded(taskKey))) this.#recount(task);
    if (task.runs.length === 0) this.#tasks.delete(taskName(task.nodeGroup, task.taskId));
    this.#ended(task);
  }

  /** It waits for its retry. */
  waits(id: string): void {
    this.#stand(id, 'waiting');
  }

  /** It is ready, or with a worker. */
  goes(id: string): void {
    this.#stand(id, 'active');
  }

  #recount(task: GuardedTask): void {
    task.counted = false;
    task.more = false;
  }

  #stand(id: string, stands: OwnedRun['stands']): void {
    const run = this.#byId.get(id);
    if (run !== undefined) run.stands = stands;
  }

  #task(partition: number, nodeGroup: string, taskId: string): GuardedTask {
    const name = taskName(nodeGroup, taskId);
    const known = this.#tasks.get(name);
    if (known !== undefined) return known;
    const task: GuardedTask = { partition, nodeGroup, taskId, limit: 1, runs: [], counted: false, more: false };
    this.#tasks.set(name, task);
    return task;
  }

  #add(task: GuardedTask, run: Omit<OwnedRun, 'task'>): void {
    const owned: OwnedRun = { ...run, task };
    task.runs.push(owned);
    this.#byId.set(run.id, owned);
  }
}
