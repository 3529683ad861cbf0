import { LtsError } from '../../../shared/errors/lts-error.js';
import type { AttemptOutcome__Output } from '../../../shared/grpc/generated/lts/v1/AttemptOutcome.js';
import type { Cancels__Output } from '../../../shared/grpc/generated/lts/v1/Cancels.js';
import type { GroupMaster__Output } from '../../../shared/grpc/generated/lts/v1/GroupMaster.js';
import type { Hello } from '../../../shared/grpc/generated/lts/v1/Hello.js';
import type { LogsAck__Output } from '../../../shared/grpc/generated/lts/v1/LogsAck.js';
import type { Owns__Output } from '../../../shared/grpc/generated/lts/v1/Owns.js';
import type { ResultsAck__Output } from '../../../shared/grpc/generated/lts/v1/ResultsAck.js';
import type { Welcome__Output } from '../../../shared/grpc/generated/lts/v1/Welcome.js';
import type { WorkRequest } from '../../../shared/grpc/generated/lts/v1/WorkRequest.js';
import type { Logger } from '../../../shared/log/logger.js';
import { MasterLease } from '../../../shared/master/master-lease.js';
import type { Clock, Timer } from '../../../shared/time/clock.js';
import { BizLogs } from '../report/biz-logs.js';
import { type EndedBatch, readEnded } from '../report/ended-batch.js';
import type { LineStore } from '../report/line-store.js';
import { ProgressBoard } from '../report/progress-board.js';
import type { ResultStore } from '../report/result-store.js';
import { Results } from '../report/results.js';
import { TakenOver } from '../report/taken-over.js';
import { type Attempt, Attempts, keyOf } from './attempts.js';
import { Deadlines } from './deadlines.js';
import { Epochs } from './epochs.js';
import { inventoryFrames } from './inventory.js';
import type { AbortReason, BegunRun, RunLine, RunProgress, ToMain, ToStream } from './messages.js';
import { OwnerLink, type OwnerMap } from './owner-link.js';
import { Pulse } from './pulse.js';
import { idSeparator, TaskBatchWriter } from './task-batch.js';
import type { WorkCall } from './work-call.js';
import type { RawTask, SessionHost, WorkSession } from './work-session.js';

/** What a worker node needs of its surroundings. */
export interface NodePorts {
  /** Who it is, as it says Hello. */
  hello: Hello & { incarnation: string; node_group: string; work_threads: number };
  /** Incarnations that have ended for certain, as far as is known now. */
  predecessors: () => readonly string[];
  owners: OwnerMap;
  results: ResultStore;
  lines: LineStore;
  open: (address: string) => WorkCall;
  /** To the thread that runs tasks. */
  post(message: ToMain, transfer?: readonly ArrayBuffer[]): void;
  clock: Clock;
  log: Logger;
}

/*
 * The worker's end of the Work stream.
 *
 *   Hello → Welcome, Owns → raise the remembered epochs → Inventory → Results of what has finished → Slots
 *   Tasks → run (other thread) → Results → ResultsAck
 *
 * Who owns what: this thread owns the attempts from their arrival until their results are settled, the epochs, the
 * credits and the FailStore; the main thread owns the runs. A run occupies a slot until its runner has ended, even when
 * its result was told before because it ran out of time.
 *
 * On failure: a lost stream costs its credits and nothing else. Runs go on; the next Owns gets an Inventory that lists
 * them and all unsettled results again. After the tracker's grace time without any stream the runs are aborted as lost,
 * for they may have been given to others; what they still return is sent all the same and recorded as late. A tracker
 * whose epoch is below the remembered one was displaced: its tasks are refused and its stream is closed.
 */
export class WorkerNode implements SessionHost {
  readonly #ports: NodePorts;
  readonly #epochs = new Epochs();
  readonly attempts = new Attempts();
  readonly results: Results;
  readonly lines: BizLogs;
  readonly link: OwnerLink;
  readonly #progress: ProgressBoard;
  readonly #deadlines: Deadlines<Attempt>;
  readonly #pulse: Pulse;
  readonly #master: MasterLease;
  readonly #changeListeners = new Set<() => void>();
  #graceMs = 30_000;
  #lostTimer: Timer | undefined;
  /** New tasks are sent back. */
  #leaving = false;
  readonly #takenOver: TakenOver;

  constructor(ports: NodePorts) {
    this.#ports = ports;
    const { clock, log, hello } = ports;
    this.results = new Results({ attempts: this.attempts, store: ports.results, clock, log, onWaiting: () => this.pump() });
    this.#takenOver = new TakenOver(ports.predecessors, (incarnation) => this.results.owes(incarnation));
    this.lines = new BizLogs({ store: ports.lines, clock });
    this.#progress = new ProgressBoard(clock, () => this.pump());
    this.#deadlines = new Deadlines(clock, (passed) => this.#outOfTime(passed));
    this.#pulse = new Pulse(clock, log, () => ports.post({ kind: 'pulse' }));
    this.#master = new MasterLease(clock, (mastership) => ports.post({ kind: 'master', mastership }));
    this.link = new OwnerLink(this, { nodeGroup: hello.node_group, owners: ports.owners, open: ports.open, clock, log });
    this.link.follow();
  }

  /** Called after anything that may have changed what is owed. */
  onChange(listener: () => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  /** Takes what the main thread says. Call pump() after the last of several. */
  take(message: ToStream): void {
    if (message.kind === 'report') {
      if (message.lines !== undefined) this.#takeLines(message.lines);
      if (message.progress !== undefined) this.#takeProgress(message.progress);
      if (message.ended !== undefined) this.#takeEnded(message.ended);
    } else if (message.kind === 'begun') this.#begun(message.run);
    else if (message.kind === 'alive') this.#pulse.answered();
  }

  pump(): void {
    for (const session of this.link.sessions) session.pump();
    for (const listener of this.#changeListeners) listener();
  }

  /** What other incarnations left has come into the FailStore, behind this place. */
  takeStored(afterSeq: number): void {
    this.results.takeStored(afterSeq);
    this.lines.takeStored(afterSeq);
    this.#takenOver.look();
    this.pump();
  }

  /** From now on tasks are sent back. */
  stopTaking(): void {
    this.#leaving = true;
  }

  /** The token under which it is the master of its group now; 0: it is not. */
  get masterToken(): number {
    return this.#master.token;
  }

  /** It is no master from now on, whatever it is told. */
  resign(): void {
    this.#master.close();
  }

  /** Asks all runs to stop. */
  abortAll(why: AbortReason): void {
    const handles = Array.from(this.attempts.runningOnes, ({ handle }) => handle);
    if (handles.length > 0) this.#ports.post({ kind: 'abort', handles, why });
  }

  /** Reports runs that did not stop; they still occupy their slots. */
  giveUpRunning(message: string): void {
    for (const attempt of this.attempts.runningOnes) if (attempt.result === undefined) this.#finish(attempt, 'ATTEMPT_OUTCOME_INTERRUPTED', message);
    this.pump();
  }

  close(): void {
    this.resign();
    this.link.stop();
    for (const session of this.link.sessions) session.close(new LtsError('CANCELLED', 'the worker has left'));
    this.#lostTimer?.cancel();
    this.#deadlines.close();
    this.#pulse.close();
    this.#progress.close();
    this.results.close();
    this.lines.close();
  }

  hello(): Hello {
    return { ...this.#ports.hello, predecessors: this.#takenOver.named(), master_token: this.masterToken, monotonic: this.#master.time };
  }

  pong(): { running: number; blocked: number; clock: number; monotonic: number } {
    return { running: this.attempts.running, blocked: this.#pulse.blockedMs, clock: this.#ports.clock.now(), monotonic: this.#master.time };
  }

  nextFrame(session: WorkSession): WorkRequest | undefined {
    return this.results.nextFrame(session) ?? (session.retired ? undefined : this.#takenOver.nextFrame()) ?? this.#nextGrant(session) ?? this.lines.nextFrame(session) ?? (session.retired ? undefined : this.#progress.nextFrame());
  }

  onWelcome(session: WorkSession, welcome: Welcome__Output): void {
    this.#graceMs = welcome.grace;
    this.#ports.log.info('stream.connected', { stream: 'Work', address: session.address, tracker: welcome.tracker_id });
  }

  onOwns(session: WorkSession, owns: Owns__Output): void {
    if (session.retired) return;
    // Nothing has changed since the last question: what is on its way stays so.
    const again = session.owned && session.storeId === owns.store_id && owns.partitions.every(({ partition, epoch }) => this.#epochs.knows(owns.store_id, partition, epoch));
    session.storeId = owns.store_id;
    for (const { partition, epoch } of owns.partitions) {
      const remembered = this.#epochs.raise(owns.store_id, partition, epoch);
      if (remembered !== undefined) return this.#refuse(session, partition, epoch, remembered);
    }
    this.#lostTimer?.cancel();
    this.#lostTimer = undefined;
    session.sendInventory(inventoryFrames(this.attempts, owns.question, this.masterToken));
    if (again) return;
    this.results.setHome(session);
    this.lines.setHome(session);
    this.link.established();
    this.#ports.post({ kind: 'connected', tracker: session.address });
  }

  onTasks(session: WorkSession, tasks: readonly RawTask[]): void {
    // What a retired session sends is dropped: the next Inventory does not list it, so it comes again.
    if (session.retired) return;
    if (!session.owned) return session.close(new LtsError('BAD_FRAME', 'the tracker sent tasks before Owns'));
    const writer = new TaskBatchWriter();
    const error = this.#accept(session, tasks, writer);
    if (writer.count > 0) {
      const batch = writer.finish();
      this.#ports.post({ kind: 'tasks', tasks: batch }, [batch.numbers.buffer as ArrayBuffer, batch.jobs.buffer as ArrayBuffer]);
    }
    if (error !== undefined) session.close(error);
  }

  onResultsAck(session: WorkSession, ack: ResultsAck__Output): void {
    this.results.ack(session, ack);
    this.#changed();
  }

  onLogsAck(session: WorkSession, ack: LogsAck__Output): void {
    this.lines.ack(session, ack);
    this.#changed();
  }

  onCancels(_session: WorkSession, cancels: Cancels__Output): void {
    const handles: number[] = [];
    for (const { instance_id, attempt } of cancels.attempts) {
      const known = this.attempts.byKey(keyOf(instance_id, attempt));
      if (known === undefined) this.#finish(this.attempts.note(instance_id, attempt), 'ATTEMPT_OUTCOME_CANCELLED', 'not on this worker');
      else if (known.result === undefined) handles.push(known.handle);
      else this.results.sendAgain(known);
    }
    if (handles.length > 0) this.#ports.post({ kind: 'abort', handles, why: 'cancelled' });
  }

  onDrain(session: WorkSession, owner: string): void {
    this.#ports.log.info('stream.lost', { stream: 'Work', address: session.address, why: 'the tracker drains', next: owner });
    this.link.drained(session, owner);
  }

  onMaster(master: GroupMaster__Output): void {
    this.#master.heard(master);
  }

  onClosed(session: WorkSession, error: LtsError): void {
    this.results.closed(session);
    this.lines.closed(session);
    if (error.reason === 'INCARNATION_SUPERSEDED') {
      this.link.stop();
      this.#ports.post({ kind: 'fatal', reason: error.reason, message: error.message });
    }
    this.link.closed(session, error);
    if (this.link.owned === undefined) this.#lostTimer ??= this.#ports.clock.after(this.#graceMs, () => this.abortAll('lost'), { unref: true });
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#changeListeners) listener();
  }

  #nextGrant(session: WorkSession): WorkRequest | undefined {
    if (session.retired || this.#leaving || this.results.overloaded) return undefined;
    const granted = session.credits.grant(this.#ports.hello.work_threads, this.attempts.running);
    return granted === undefined ? undefined : { slots: { granted } };
  }

  /** Takes the tasks in order; an error ends the stream, what was taken before it stays. */
  #accept(session: WorkSession, tasks: readonly RawTask[], batch: TaskBatchWriter): LtsError | undefined {
    const { credits, storeId } = session;
    const now = this.#ports.clock.now();
    for (const task of tasks) {
      const { instance_id, attempt, partition, epoch } = task;
      const remembered = this.#epochs.raise(storeId, partition, epoch);
      if (remembered !== undefined) return this.#refusal(session, partition, epoch, remembered);
      if (++credits.received > credits.granted) return new LtsError('BAD_FRAME', `the tracker sent more tasks than the ${credits.granted} that were granted`);
      if (instance_id.includes(idSeparator)) return new LtsError('BAD_FRAME', `the tracker sent the instance id ${JSON.stringify(instance_id)}`);
      const key = keyOf(instance_id, attempt);
      const known = this.attempts.byKey(key);
      if (known !== undefined) this.results.sendAgain(known);
      else if (this.#leaving) this.#finish(this.attempts.note(instance_id, attempt), 'ATTEMPT_OUTCOME_INTERRUPTED', 'the worker is shut down; the run had not begun');
      else batch.add(this.attempts.accept(key, instance_id, attempt, now).handle, task);
    }
    return undefined;
  }

  #refuse(session: WorkSession, partition: number, epoch: number, remembered: number): void {
    session.close(this.#refusal(session, partition, epoch, remembered));
  }

  #refusal(session: WorkSession, partition: number, epoch: number, remembered: number): LtsError {
    this.#ports.log.error('task.refused', { address: session.address, storeId: session.storeId, partition, epoch, remembered });
    return new LtsError('STALE_EPOCH', `epoch ${epoch} of partition ${partition} is below ${remembered}, which another owner has shown`);
  }

  #begun(run: BegunRun): void {
    const attempt = this.attempts.byHandle(run.handle);
    if (attempt === undefined || attempt.result !== undefined) return;
    attempt.limit = run;
    this.#deadlines.add(attempt, run.limitMs);
  }

  #outOfTime(passed: readonly Attempt[]): void {
    for (const attempt of passed) if (attempt.result === undefined) this.#finish(attempt, 'ATTEMPT_OUTCOME_EXCEPTION', `timed out after ${attempt.limit?.limitMs} ms`);
    this.#ports.post({ kind: 'abort', handles: passed.map(({ handle }) => handle), why: 'timeout' });
    this.pump();
  }

  #finish(attempt: Attempt, outcome: AttemptOutcome__Output, message: string): void {
    this.results.add(attempt, {
      instance_id: attempt.instanceId,
      attempt: attempt.attempt,
      incarnation: this.#ports.hello.incarnation,
      outcome,
      message,
      // 0 says that it has certainly not begun.
      started_at: attempt.limit?.startedAt ?? attempt.acceptedAt,
      ended_at: this.#ports.clock.now(),
    });
  }

  #takeEnded(ended: EndedBatch): void {
    const { incarnation } = this.#ports.hello;
    readEnded(ended, (handle, startedAt, endedAt, { outcome, message, truncated, retryAt }) => {
      const attempt = this.attempts.byHandle(handle);
      if (attempt === undefined) return;
      this.attempts.ended(attempt);
      this.#progress.ended(handle);
      if (attempt.limit !== undefined) this.#deadlines.remove(attempt);
      // It was told before, when its time ran out.
      if (attempt.result !== undefined) return;
      const { instanceId } = attempt;
      this.results.add(attempt, { instance_id: instanceId, attempt: attempt.attempt, incarnation, outcome, message, truncated, retry_at: retryAt, started_at: startedAt, ended_at: endedAt });
    });
  }

  #takeLines(lines: readonly RunLine[]): void {
    for (const { handle, at, level, text, truncated } of lines) {
      const attempt = this.attempts.byHandle(handle);
      if (attempt !== undefined) this.lines.add({ instance_id: attempt.instanceId, attempt: attempt.attempt, at, level, text, truncated });
    }
  }

  #takeProgress(entries: readonly RunProgress[]): void {
    for (const { handle, progress, text } of entries) {
      const attempt = this.attempts.byHandle(handle);
      if (attempt !== undefined && attempt.result === undefined) this.#progress.set(handle, { instance_id: attempt.instanceId, attempt: attempt.attempt, progress, text });
    }
  }
}
