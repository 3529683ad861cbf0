import { LtsError } from '../../../shared/errors/lts-error.js';
import type { GroupMaster } from '../../../shared/grpc/generated/lts/v1/GroupMaster.js';
import type { Hello__Output } from '../../../shared/grpc/generated/lts/v1/Hello.js';
import type { HeldAttempt__Output } from '../../../shared/grpc/generated/lts/v1/HeldAttempt.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { Clock } from '../../../shared/time/clock.js';
import { GroupMasters } from '../lead/group-masters.js';
import type { Execution, OwnedGroups } from '../queue/owned-groups.js';
import type { ExecutingRow, WorkerIdentity } from '../queue/queue-store.js';
import type { DirectoryEvents, DirectorySettings } from './directory-ports.js';
import { GroupWorkers } from './group-workers.js';
import { lostBy } from './lost-by.js';
import { Worker } from './worker.js';
import { WorkerClocks } from './worker-clocks.js';
import type { WorkerSession } from './worker-session.js';

/** What a worker says for people is kept up to this length. */
const longestName = 256;
/** How often a worker is asked what it has while it works, in milliseconds. */
const askEveryMs = 60_000;

/**
 * The workers of the owned groups and the protocol of their sessions.
 *
 * States of a worker: joining (session, Inventory awaited) → online (gets tasks) → lost (no session, grace time runs)
 * → gone. The same incarnation may come back from lost with its attempts. Who owns what: the store says which attempts
 * a worker has (`executions`), the worker's Inventory which of them it knows; nothing is declared lost before that
 * answer or the end of the grace time. An attempt that the same incarnation does not list has provably not started and
 * is sent again under its number. Predecessors (incarnations that have ended for certain, of the same node or of a dead
 * neighbour) lose what the new incarnation does not list as finished. On failure of a stream its credits die and the
 * grace time starts; on a take-over or reload all workers are asked anew under the new epoch. Connected workers are asked
 * again every minute: frames keep their order, so what was sent before the question and is not in the answer was lost.
 */
export class WorkerDirectory {
  readonly #groups: OwnedGroups;
  readonly #events: DirectoryEvents;
  readonly #settings: DirectorySettings;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #byIncarnation = new Map<string, Worker>();
  readonly #byGroup = new Map<string, GroupWorkers>();
  readonly #touched = new Set<WorkerSession>();
  /** Which worker is the master of its group. */
  readonly masters: GroupMasters<Worker>;
  readonly clocks: WorkerClocks;

  constructor(groups: OwnedGroups, events: DirectoryEvents, settings: DirectorySettings, clock: Clock, log: Logger) {
    this.#groups = groups;
    this.#events = events;
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
    this.clocks = new WorkerClocks(clock, log);
    const port = {
      nameOf: ({ identity }: Worker) => identity.nodeId,
      heardOf: ({ session }: Worker) => session?.workerTime ?? 0,
      tell: ({ session }: Worker, master: GroupMaster) => session?.master(master),
    };
    this.masters = new GroupMasters(groups, port, settings.graceMs, clock);
  }

  ofGroup(group: string): GroupWorkers {
    let workers = this.#byGroup.get(group);
    if (workers === undefined) this.#byGroup.set(group, (workers = new GroupWorkers()));
    return workers;
  }

  all(): Iterable<Worker> {
    return this.#byIncarnation.values();
  }

  find(identity: WorkerIdentity): Worker | undefined {
    return this.#byIncarnation.get(identity.incarnation);
  }

  /** Something waits to be written on the session; `flush` writes it. */
  touched(session: WorkerSession): void {
    this.#touched.add(session);
  }

  /** Writes what the last commit caused. */
  flush(): void {
    for (const session of this.#touched) session.flush();
    this.#touched.clear();
  }

  /** A stream said Hello. */
  open(hello: Hello__Output, address: string, session: WorkerSession): Worker {
    const identity = { nodeId: hello.node_id, incarnation: hello.incarnation };
    const known = this.#byIncarnation.get(identity.incarnation);
    if (known !== undefined && (known.identity.nodeId !== identity.nodeId || known.group !== hello.node_group)) {
      throw new LtsError('BAD_FRAME', `hello.incarnation ${identity.incarnation} is that of another node or group; make a fresh one per process start`);
    }
    const worker = known ?? this.#add(identity, hello.node_group);
    worker.session?.end(new LtsError('CANCELLED', `the same process (${hello.incarnation}) opened a newer stream`));
    worker.session = session;
    session.workerTime = hello.monotonic;
    worker.info = { workThreads: hello.work_threads, host: hello.host.slice(0, longestName), pid: hello.pid, version: hello.version.slice(0, longestName), address };
    worker.types = new Set(hello.types);
    worker.predecessors = new Set(hello.predecessors);
    this.ofGroup(worker.group).changed();
    session.welcome(this.#settings.trackerId(), this.#settings.graceMs, this.#settings.pingIntervalMs);
    this.#ask(worker, false);
    this.#log.info('worker.online', { worker: identity.nodeId, incarnation: identity.incarnation, group: worker.group, address });
    return worker;
  }

  /** The partition was loaded: attempts find their workers, and connected workers are asked what they have. */
  adopted(partition: number): void {
    this.masters.adopted(partition);
    for (const worker of this.#byIncarnation.values()) if (this.#partitionOf(worker) === partition) worker.forget();
    for (const execution of this.#groups.executions.values()) if (execution.partition === partition) this.#take(execution);
    for (const worker of this.#byIncarnation.values()) if (worker.session !== undefined && this.#partitionOf(worker) === partition) this.#ask(worker, false);
  }

  /** The partition is not owned any more: its workers are sent away. */
  dropped(groupIsOwned: (group: string) => boolean, notOwner: (group: string) => LtsError): void {
    for (const worker of this.#byIncarnation.values()) {
      if (groupIsOwned(worker.group)) continue;
      const { session } = worker;
      // Its end starts no grace time: the attempts are the next owner's, also when that is this tracker again.
      worker.session = undefined;
      worker.forget();
      this.#remove(worker);
      session?.end(notOwner(worker.group));
    }
    this.masters.dropped();
  }

  /** Other nodes are drained than before. */
  drainedChanged(): void {
    for (const worker of this.#byIncarnation.values()) {
      const before = worker.drained;
      worker.drained = this.#settings.isDrained(worker.identity.nodeId);
      if (before && !worker.drained) this.#events.slotsChanged(worker.group);
    }
  }

  /** A chunk of what the worker has; after the last one it is online. */
  inventory(worker: Worker, held: readonly HeldAttempt__Output[], end: boolean, question = 0, masterToken = 0): void {
    // The answer to an earlier question: what it lacks may have been sent since.
    const isOld = question !== 0 && question !== worker.question;
    for (const { instance_id, attempt, finished } of held) {
      // Only what the store knows is remembered, so that a list without end fills no memory.
      if (this.#groups.executions.get(instance_id)?.attempt === attempt) {
        if (!isOld) worker.inventory.set(instance_id, { attempt, finished });
      } else if (!finished) worker.session?.cancel({ instance_id, attempt });
    }
    if (worker.session === undefined) return;
    if (!end || isOld) return worker.session.flush();
    const { inventory: listed, questioned } = worker;
    worker.inventory = new Map();
    worker.repeatsQuestion = question !== 0;
    worker.questioned = undefined;
    if (worker.confirmed && questioned !== undefined) this.#resendLost(worker, questioned, listed);
    else this.#confirm(worker, listed, masterToken);
    worker.session.flush();
    this.#events.slotsChanged(worker.group);
  }

  /** Asks connected workers again what they have, those whose time has come, a few at once. To be called about every second. */
  askAgain(): void {
    const before = this.#clock.monotonic() - askEveryMs;
    let left = Math.ceil((this.#byIncarnation.size * 2_000) / askEveryMs);
    for (const worker of this.#byIncarnation.values()) {
      const { session, confirmed } = worker;
      if (session === undefined || worker.askedAt > before || session.hasTasks || (confirmed && !worker.repeatsQuestion)) continue;
      if (left-- === 0) return;
      if (!this.#ask(worker, confirmed)) continue;
      if (!confirmed) this.#events.mended('WORKER_ASKED', { worker: worker.identity.nodeId });
    }
  }

  /** An attempt that the store knows and memory did not. */
  adopt(row: Omit<ExecutingRow, 'taskId'>, partition: number): void {
    const worker = this.#take(this.#groups.execute(row, partition));
    if (worker.session !== undefined) this.#ask(worker, false);
  }

  #confirm(worker: Worker, listed: Worker['inventory'], masterToken: number): void {
    worker.confirmed = true;
    worker.endGrace();
    worker.resend = [];
    for (const execution of worker.executions) {
      execution.held = listed.get(execution.id)?.attempt === execution.attempt;
      if (!execution.held && !execution.finishing) {
        this.#sendAgain(worker, execution);
        this.#log.info('run.resent', { instanceId: execution.id, attempt: execution.attempt, worker: worker.identity.nodeId });
      } else if (execution.cancelling) this.cancel(execution);
    }
    this.#losePredecessors(worker, listed);
    this.masters.joined(worker.group, worker, masterToken);
    this.masters.claims(worker.group, worker, masterToken);
  }

  #resendLost(worker: Worker, questioned: ReadonlySet<Execution>, listed: Worker['inventory']): void {
    for (const execution of lostBy(worker, questioned, listed)) {
      execution.held = false;
      this.#sendAgain(worker, execution);
      this.#events.mended('ATTEMPT_RESENT', { instanceId: execution.id, attempt: execution.attempt, worker: worker.identity.nodeId });
    }
  }

  /** The worker brings results of these, whose FailStore it holds. Only those are remembered that are known here. */
  noteEnded(worker: Worker, incarnations: readonly string[]): void {
    for (const each of incarnations) if (this.#byIncarnation.has(each)) worker.delivers.add(each);
  }

  /**
   * Whether the worker speaks for the one that has the attempt. 'later': that is another process which is still
   * connected, as far as is known.
   */
  speaksFor(worker: Worker, execution: Execution): 'yes' | 'later' | 'no' {
    if (execution.nodeGroup !== worker.group || !worker.speaksFor(execution.worker)) return 'no';
    return execution.worker.incarnation === worker.identity.incarnation || this.find(execution.worker)?.session === undefined ? 'yes' : 'later';
  }

  slots(worker: Worker, granted: number): void {
    if (worker.session === undefined) return;
    worker.session.granted = Math.max(worker.session.granted, granted);
    this.#events.slotsChanged(worker.group);
  }

  /** The worker's stream has taken what it was full of. */
  room(worker: Worker): void {
    this.#events.slotsChanged(worker.group);
  }

  /** Tells the worker to stop an attempt; one that it does not have ends without it. */
  cancel(execution: Execution): void {
    const { session, resend = [] } = this.find(execution.worker) ?? {};
    const at = resend.indexOf(execution);
    if (execution.cancelling && !execution.finishing && at >= 0) {
      resend.splice(at, 1);
      return this.#events.unstarted(execution);
    }
    session?.cancel({ instance_id: execution.id, attempt: execution.attempt });
    session?.flush();
  }

  /** The attempt was stored but its task could not be written: it is sent again when the worker is back, and given up when that is not awaited any more. */
  notSent(worker: Worker, execution: Execution): void {
    execution.held = false;
    if (worker.confirmed) {
      this.#sendAgain(worker, execution);
      this.#events.slotsChanged(worker.group);
    } else if (this.#byIncarnation.get(worker.identity.incarnation) !== worker || (worker.session === undefined && worker.grace === undefined)) this.#events.unstarted(execution);
  }

  /** After a cancel nothing is begun: it is over then. */
  #sendAgain(worker: Worker, execution: Execution): void {
    if (execution.cancelling) this.#events.unstarted(execution);
    else worker.resend.push(execution);
  }

  /** The attempt is over. */
  ended(execution: Execution): void {
    const worker = this.find(execution.worker);
    if (worker === undefined) return;
    worker.executions.delete(execution);
    if (worker.executions.size === 0 && worker.session === undefined && worker.grace === undefined) this.#remove(worker);
  }

  /** The stream of a session is closed, after a Goodbye or not. */
  closed(worker: Worker, session: WorkerSession, graceful: boolean): void {
    session.closed = true;
    if (worker.session !== session) return;
    worker.session = undefined;
    worker.confirmed = false;
    const fields = { worker: worker.identity.nodeId, incarnation: worker.identity.incarnation, group: worker.group, running: worker.executions.size };
    if (!graceful) {
      this.#log.warn('worker.offline', { ...fields, graceMs: this.#settings.graceMs });
      this.masters.lost(worker.group, worker);
      return this.#startGrace(worker);
    }
    this.#log.info('worker.gone', fields);
    this.masters.left(worker.group, worker);
    const left = [...worker.executions];
    this.#remove(worker);
    for (const execution of left) if (!execution.finishing) this.#events.unstarted(execution);
  }

  #losePredecessors(worker: Worker, listed: Map<string, { attempt: number; finished: boolean }>): void {
    for (const incarnation of worker.predecessors) {
      const earlier = this.#byIncarnation.get(incarnation);
      if (earlier === undefined || earlier === worker || earlier.group !== worker.group) continue;
      // A neighbour that is here has not ended, whatever is said of it.
      if (earlier.identity.nodeId !== worker.identity.nodeId && earlier.session !== undefined) continue;
      earlier.session?.end(new LtsError('INCARNATION_SUPERSEDED', `${worker.identity.incarnation} says that ${incarnation} has ended`));
      earlier.session = undefined;
      earlier.confirmed = false;
      this.masters.left(earlier.group, earlier);
      if (earlier.grace === undefined) this.#startGrace(earlier);
      for (const execution of earlier.executions) {
        if (!execution.finishing && listed.get(execution.id)?.attempt !== execution.attempt) this.#events.lost(execution);
      }
    }
  }

  /** @param working it goes on getting tasks meanwhile; otherwise none before its answer */
  #ask(worker: Worker, working: boolean): boolean {
    const partition = this.#groups.partitions.get(this.#partitionOf(worker));
    worker.confirmed &&= working;
    worker.inventory = new Map();
    worker.askedAt = this.#clock.monotonic();
    worker.questioned = working ? new Set([...worker.executions].filter(({ held }) => held)) : undefined;
    return partition !== undefined && worker.session?.owns(this.#settings.storeId(), [partition], ++worker.question) === true;
  }

  /** The worker that has the attempt; without a stream its grace time begins. */
  #take(execution: Execution): Worker {
    const worker = this.#byIncarnation.get(execution.worker.incarnation) ?? this.#add(execution.worker, execution.nodeGroup);
    worker.executions.add(execution);
    if (worker.session === undefined && worker.grace === undefined) this.#startGrace(worker);
    return worker;
  }

  #startGrace(worker: Worker): void {
    worker.grace?.cancel();
    worker.grace = this.#clock.after(this.#settings.graceMs, () => this.#graceOver(worker), { unref: true });
  }

  #graceOver(worker: Worker): void {
    worker.grace = undefined;
    const left = [...worker.executions];
    this.#log.warn('worker.gone', { worker: worker.identity.nodeId, incarnation: worker.identity.incarnation, group: worker.group, running: left.length });
    if (worker.session === undefined && left.length === 0) this.#remove(worker);
    for (const execution of left) if (!execution.finishing) this.#events.lost(execution);
  }

  #partitionOf(worker: Worker): number {
    return this.#groups.partitionOf(worker.group);
  }

  #add(identity: WorkerIdentity, group: string): Worker {
    const worker = new Worker(identity, group, this.#clock.now());
    worker.drained = this.#settings.isDrained(identity.nodeId);
    this.#byIncarnation.set(identity.incarnation, worker);
    this.ofGroup(group).add(worker);
    return worker;
  }

  #remove(worker: Worker): void {
    worker.endGrace();
    this.#byIncarnation.delete(worker.identity.incarnation);
    const workers = this.ofGroup(worker.group);
    workers.remove(worker);
    if (workers.all.size === 0) this.#byGroup.delete(worker.group);
  }
}
