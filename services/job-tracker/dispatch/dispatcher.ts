import type { Clock } from '../../../shared/time/clock.js';
import type { CommitPipeline } from '../queue/commit-pipeline.js';
import type { Execution, GroupQueue, OwnedGroups } from '../queue/owned-groups.js';
import type { Admit, ExecutingRow, NewlyReady, QueueStore, ReadyKey, ReadyRow, ReassignOutcome, StartOutcome } from '../queue/queue-store.js';
import type { GroupWorkers } from './group-workers.js';
import type { Worker } from './worker.js';
import type { WorkerDirectory } from './worker-directory.js';
import type { WorkerSession } from './worker-session.js';

/** After the store refused a start, dispatch of the group rests for so long. */
const restMs = 500;

/** What an instance is made of that is handed out in the write that makes it. */
export type HandedOut = Pick<Admit, 'partition' | 'id' | 'nodeGroup' | 'type' | 'priority' | 'dueAt' | 'createdAt' | 'policy' | 'job' | 'start'>;

/** A group that its rate holds is looked at no more often: what gathers meanwhile begins together. */
const shortestWaitMs = 10;

/** A look behind the rows in memory that found nothing rests for so long before it goes on. */
const lookAgainMs = 5;

/**
 * Step 3: ready work meets free slots. The attempt is recorded durably before its task is sent; a slot is reserved for
 * it before that, so that more attempts are never out than granted.
 */
export class Dispatcher {
  readonly #groups: OwnedGroups;
  readonly #workers: WorkerDirectory;
  readonly #pipeline: CommitPipeline;
  readonly #store: Pick<QueueStore, 'readReady'>;
  readonly #clock: Clock;
  readonly #resting = new Set<string>();
  #stopped = false;

  constructor(groups: OwnedGroups, workers: WorkerDirectory, pipeline: CommitPipeline, store: Pick<QueueStore, 'readReady'>, clock: Clock) {
    this.#groups = groups;
    this.#workers = workers;
    this.#pipeline = pipeline;
    this.#store = store;
    this.#clock = clock;
  }

  /** Starts nothing any more. */
  stop(): void {
    this.#stopped = true;
  }

  /** Starts as much of the group as there are free slots. */
  dispatch(group: GroupQueue): void {
    if (this.#stopped || this.#resting.has(group.name) || !this.#groups.isOpen(group.partition)) return;
    const workers = this.#workers.ofGroup(group.name);
    for (const worker of workers.all) this.#resend(worker);
    while (!this.#held(group)) {
      const row = workers.selective ? group.ready.shiftWhere((each) => workers.peek(each.type) !== undefined) : workers.peek('') && group.ready.shift();
      if (row === undefined) break;
      const worker = workers.take(row.type);
      if (worker?.session === undefined) break;
      this.#start(group, row, worker, worker.session);
    }
    this.#refill(group);
    if (workers.selective && workers.peek('') !== undefined && group.gate.heldBy(group.executing, this.#clock) === undefined) this.#lookFurther(group, workers);
  }

  /** A worker for an instance that is being made, when it can be handed out in the same commit. Its slot is reserved; `gate.end` is owed. */
  reserve(group: GroupQueue, type: string, bytes: number): Worker | undefined {
    if (group.readyCount > 0 || group.admitting > 0 || this.#resting.has(group.name) || this.#stopped) return undefined;
    if (group.gate.heldBy(group.executing, this.#clock) !== undefined) return undefined;
    const worker = this.#workers.ofGroup(group.name).take(type);
    if (worker === undefined) return undefined;
    worker.session?.reserve(bytes);
    group.gate.begin();
    return worker;
  }

  /** It was stored with its first attempt: the task goes out. */
  handOut(made: HandedOut, seq: number, worker: Worker, session: WorkerSession | undefined): void {
    const start = made.start as NonNullable<Admit['start']>;
    this.#begin(made.partition, worker, session, made.job, {
      seq,
      id: made.id,
      nodeGroup: made.nodeGroup,
      type: made.type,
      priority: made.priority,
      dueAt: made.dueAt,
      scheduledAt: made.dueAt,
      attempt: 1,
      fence: start.fence,
      worker: worker.identity,
      assignedAt: made.createdAt,
      cancelling: false,
      retryTimes: 0,
      lostTimes: 0,
      policy: made.policy,
    });
  }

  /** Something became ready: it enters the ready set, and is dispatched when there is a slot. */
  enter(row: NewlyReady): void {
    const group = this.#groups.group(row.nodeGroup, this.#groups.partitionOf(row.nodeGroup));
    group.readyCount++;
    this.place(group, row);
    this.dispatch(group);
  }

  /** It may begin from now on. Of which task it is tells only the store, which is asked while one of the group is halted. */
  place(group: GroupQueue, row: ReadyRow): void {
    if (!this.#groups.hasHalted(group.name)) return group.ready.insert(row);
    const { priority, dueAt, seq } = row;
    this.#store.readReady(group.name, { priority, dueAt, seq: seq - 1 }, 1).then(([found]) => {
      if (found?.seq !== seq || this.#groups.groups.get(group.name) !== group || this.#isHalted(group, found)) return;
      // A read that was on its way may have brought it.
      group.ready.remove(seq);
      group.ready.insert(row);
      this.dispatch(group);
    }, () => undefined); // It is read again when the halt is over.
  }

  #isHalted({ name }: GroupQueue, { taskId = '' }: ReadyRow): boolean {
    return this.#groups.isHalted(name, taskId);
  }

  /** Whether a limit of the group lets nothing begin. What it waits for then calls `dispatch`: the end of an attempt, or a timer to the next start. */
  #held(group: GroupQueue): boolean {
    if (group.ready.size === 0) return false;
    const { gate } = group;
    const limit = gate.heldBy(group.executing, this.#clock);
    if (limit === 'startsPerSecond') {
      gate.wake ??= this.#clock.after(Math.max(gate.msToNext(this.#clock), shortestWaitMs), () => {
        gate.wake = undefined;
        this.dispatch(group);
      }, { unref: true });
    }
    return limit !== undefined;
  }

  #start(group: GroupQueue, row: ReadyRow, worker: Worker, session: WorkerSession): void {
    const partition = this.#groups.partitions.get(group.partition);
    if (partition === undefined) return;
    const { job } = row;
    const bytes = job?.length ?? group.largeJobBytes;
    session.reserve(bytes);
    group.gate.begin();
    const attempt = row.attempts + 1;
    const fence = this.#groups.nextFence(partition);
    const at = this.#clock.now();
    this.#pipeline.add(
      { kind: 'start', partition: group.partition, seq: row.seq, attempt, fence, worker: worker.identity, at, wantJob: job === undefined },
      (outcome, error) => {
        session.unreserve(bytes);
        const { started, job: stored } = (outcome ?? { started: false }) as StartOutcome;
        group.gate.end(started);
        if (error !== undefined) return this.#rest(group, row);
        if (!started) return this.dispatch(group);
        if (stored !== undefined) noteLargeJob(group, stored.length);
        group.readyCount--;
        this.#begin(group.partition, worker, session, job ?? (stored as Buffer), {
          seq: row.seq,
          id: row.id,
          nodeGroup: group.name,
          type: row.type,
          priority: row.priority,
          dueAt: row.dueAt,
          scheduledAt: row.scheduledAt,
          attempt,
          fence,
          worker: worker.identity,
          assignedAt: at,
          cancelling: false,
          retryTimes: row.retryTimes,
          lostTimes: row.lostTimes,
          policy: row.policy,
        });
      },
      job === undefined ? bytes : undefined,
      group.name,
    );
  }

  #begin(partition: number, worker: Worker, session: WorkerSession | undefined, job: Buffer, row: Omit<ExecutingRow, 'taskId'>): void {
    // Let go meanwhile: its next owner, which may be this tracker, finds the attempt in the store.
    if (!this.#groups.isOf(partition, row.fence)) return;
    const execution = this.#groups.execute(row, partition);
    worker.executions.add(execution);
    if (session !== undefined && !session.closed && worker.session === session) this.#send(session, execution, job);
    else this.#workers.notSent(worker, execution);
  }

  #send(session: WorkerSession, execution: Execution, job: Buffer): void {
    execution.held = true;
    session.task({
      instance_id: execution.id,
      attempt: execution.attempt,
      partition: execution.partition,
      epoch: this.#groups.partitions.get(execution.partition)?.epoch ?? 0,
      job,
      scheduled_time: execution.scheduledAt,
      fencing_token: execution.fence,
      retry_times: execution.retryTimes,
    });
    this.#workers.touched(session);
  }

  /** Attempts that the worker does not have although the store says so: sent again under the same number. */
  #resend(worker: Worker): void {
    const { session } = worker;
    if (session === undefined) return;
    while (worker.resend.length > 0 && worker.ownCredits > 0) {
      const execution = worker.resend.shift() as Execution;
      // When it is on its way for an earlier session, its outcome puts it here again.
      if (!worker.executions.has(execution) || execution.finishing || execution.resending) continue;
      execution.resending = true;
      const bytes = this.#groups.groups.get(execution.nodeGroup)?.largeJobBytes ?? 0;
      session.reserve(bytes);
      const { seq, attempt, partition } = execution;
      this.#pipeline.add({ kind: 'reassign', partition, seq, attempt, worker: worker.identity, at: this.#clock.now() }, (outcome, error) => {
        session.unreserve(bytes);
        execution.resending = false;
        const { applied, job } = (outcome ?? { applied: false }) as ReassignOutcome;
        if (error !== undefined) worker.resend.push(execution);
        else if (applied && job !== undefined && worker.session === session && !execution.cancelling) this.#send(session, execution, job);
        else if (applied) this.#workers.notSent(worker, execution);
      }, bytes, execution.nodeGroup);
    }
  }

  #rest(group: GroupQueue, row: ReadyRow): void {
    if (this.#groups.groups.get(group.name) !== group) return;
    this.place(group, row);
    if (this.#resting.has(group.name)) return;
    this.#resting.add(group.name);
    this.#clock.after(restMs, () => {
      this.#resting.delete(group.name);
      const current = this.#groups.groups.get(group.name);
      if (current !== undefined) this.dispatch(current);
    }, { unref: true });
  }

  #refill(group: GroupQueue): void {
    const { wanted, boundary, generation } = group.ready;
    if (wanted === 0) return;
    this.#read(group, boundary, wanted, (rows) => {
      group.ready.refill(rows, wanted, generation, (row) => this.#isHalted(group, row));
      if (rows.length > 0) this.dispatch(group);
    });
  }

  /** A free worker found nothing that it runs, and the memory is full of what others run. */
  #lookFurther(group: GroupQueue, workers: GroupWorkers): void {
    const { ready } = group;
    if (group.refilling || ready.wanted > 0) return;
    const isFree = (type: string): boolean => workers.peek(type) !== undefined;
    const read = ready.further.next(ready, isFree);
    if (read === undefined) return;
    this.#read(group, read.after, read.limit, (rows) => {
      if (ready.further.found(rows, read, isFree, (row) => this.#isHalted(group, row))) this.dispatch(group);
      else this.#clock.after(lookAgainMs, () => this.dispatch(group), { unref: true });
    });
  }

  #read(group: GroupQueue, after: ReadyKey | undefined, limit: number, take: (rows: ReadyRow[]) => void): void {
    if (group.refilling) return;
    group.refilling = true;
    this.#store.readReady(group.name, after, limit).then(
      (rows) => {
        group.refilling = false;
        if (this.#groups.groups.get(group.name) === group) take(rows);
      },
      () => {
        group.refilling = false;
        this.#clock.after(restMs, () => this.dispatch(group), { unref: true });
      },
    );
  }
}

/** Follows a rise at once and a fall slowly: what is held for jobs of unknown size rests on it. */
function noteLargeJob(group: GroupQueue, bytes: number): void {
  group.largeJobBytes = Math.max(bytes, group.largeJobBytes / 2);
}
