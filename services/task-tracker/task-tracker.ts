import { LtsError } from '../../shared/errors/lts-error.js';
import { newId } from '../../shared/ids.js';
import { type Logger, silentLogger } from '../../shared/log/logger.js';
import type { MasterListener, Mastership } from '../../shared/master/master-lease.js';
import { version } from '../../shared/package-root.js';
import { systemClock } from '../../shared/time/clock.js';
import { withDeadline } from '../../shared/time/deadline.js';
import { Outbox } from './report/outbox.js';
import { loadRunners, runnersUrl } from './run/load-runners.js';
import { RunnerPool } from './run/runner-pool.js';
import { makeRunnerTable } from './run/runner-table.js';
import type { Runners } from './run/runner.js';
import { ThreadRunners } from './run/thread-runners.js';
import { type CheckedOptions, checkOptions } from './check-options.js';
import type { TaskTrackerOptions } from './options.js';
import type { ToMain } from './stream/messages.js';
import { StreamThread } from './stream/stream-thread.js';

/**
 * A worker: gets tasks of its group from JobTrackers and runs them.
 *
 *     const worker = new TaskTracker({
 *       trackers: ['127.0.0.1:7400'],
 *       nodeGroup: 'demo',
 *       runners: { greet: async ({ job, log }) => { log.info(`hello ${job.text()}`); } },
 *     });
 *     await worker.run();
 */
export class TaskTracker {
  /** Fresh id of this process start. */
  readonly incarnation: string = newId();
  readonly #options: CheckedOptions;
  readonly #log: Logger;
  readonly #started = signal();
  readonly #connected = signal();
  readonly #left = signal();
  readonly #closed = signal();
  #begun = false;
  #thread: StreamThread | undefined;
  #pool: RunnerPool | undefined;
  #threads: ThreadRunners | undefined;
  #nodeId = '';
  #mastership: Mastership = { master: false, nodeId: '', token: 0 };
  readonly #masterListeners = new Set<MasterListener>();
  #draining: Promise<void> | undefined;
  #failure: LtsError | undefined;

  /** Errors: CONFIG_INVALID, with every problem at once. */
  constructor(options: TaskTrackerOptions) {
    this.#options = checkOptions(options);
    this.#log = options.log ?? silentLogger;
  }

  /** Name of this node; empty before start() has resolved. */
  get nodeId(): string {
    return this.#nodeId;
  }

  /** Who the master of the group is, as far as this worker knows. */
  get mastership(): Mastership {
    return this.#mastership;
  }

  /**
   * Calls at each change of who the master of the group is; at once when that is known. One worker of a group is its
   * master. A process that stood still may take itself for the master a moment too long: keep the token with what the
   * master writes, and refuse smaller ones.
   */
  onMaster(listener: MasterListener): { close(): void } {
    this.#masterListeners.add(listener);
    if (this.#mastership.token > 0) listener(this.#mastership);
    return { close: () => void this.#masterListeners.delete(listener) };
  }

  /** How many tasks run now. */
  get running(): number {
    return this.#pool?.running ?? 0;
  }

  /**
   * Resolves when this worker has left, after drain(). Rejects when it can not go on: INCARNATION_SUPERSEDED (another
   * process works under its node id), INTERNAL.
   */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Resolves when an owner of the group has taken this worker for the first time. */
  get connected(): Promise<void> {
    return this.#connected.promise;
  }

  /**
   * Begins to work; resolves when runners and FailStore are ready, whether or not a tracker can be reached yet.
   * Errors: CONFIG_INVALID (runners), STORE_FAILED and others of the FailStore.
   */
  async start(): Promise<void> {
    if (this.#begun) throw new LtsError('INVALID_ARGUMENT', 'the worker was started before; make a new one');
    this.#begun = true;
    const { runners: given, log: _log, graceMs: _graceMs, ...settings } = this.#options;
    const url = typeof given === 'string' || given instanceof URL ? runnersUrl(given) : undefined;
    const outbox = new Outbox((message) => this.#thread?.post(message), systemClock);
    const mastership = (): Mastership => this.#mastership;
    const threads = url === undefined ? undefined : new ThreadRunners({ url, outbox, clock: systemClock, mastership });
    const table = makeRunnerTable(url === undefined ? (given as Runners) : await loadRunners(url), threads && ((type) => threads.perform(type)));
    this.#threads = threads;
    this.#pool = new RunnerPool({ runners: table, outbox, clock: systemClock, mastership, catchUp: () => this.#thread?.catchUp() });
    this.#thread = new StreamThread(
      { ...settings, incarnation: this.incarnation, types: table.types, version },
      { take: (message) => this.#take(message), died: (error) => this.#died(error) },
    );
    await this.#started.promise;
  }

  /** start(), then works until SIGTERM or SIGINT, drains, and resolves. Rejects like start() and `closed`. */
  async run(): Promise<void> {
    await this.start();
    const leave = (): void => void this.drain();
    process.once('SIGTERM', leave).once('SIGINT', leave);
    try {
      await this.closed;
    } finally {
      process.off('SIGTERM', leave).off('SIGINT', leave);
    }
  }

  /**
   * Leaves: takes no more tasks, lets runs finish for `graceMs`, aborts the rest (reason shutdown), delivers or stores
   * all results, says goodbye. Never rejects; calls after the first wait for it.
   */
  drain(graceMs: number = this.#options.graceMs): Promise<void> {
    this.#draining ??= this.#drain(graceMs);
    return this.#draining;
  }

  /** Like drain(), for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.drain();
  }

  #take(message: ToMain): void {
    switch (message.kind) {
      case 'tasks':
        return this.#pool?.start(message.tasks);
      case 'abort':
        return this.#pool?.abort(message.handles, message.why);
      case 'pulse':
        return this.#thread?.post({ kind: 'alive' });
      case 'log':
        return this.#log[message.level](message.event, message.fields);
      case 'master':
        return this.#mastershipChanged(message.mastership);
      case 'ready':
        this.#nodeId = message.nodeId;
        return this.#started.resolve();
      case 'connected':
        return this.#connected.resolve();
      case 'fatal':
        return this.#fail(new LtsError(message.reason, message.message));
      case 'left':
        return this.#left.resolve();
    }
  }

  #mastershipChanged(mastership: Mastership): void {
    this.#mastership = mastership;
    this.#log.info('master.changed', { group: this.#options.nodeGroup, ...mastership });
    for (const listener of this.#masterListeners) {
      try {
        listener(mastership);
      } catch (error) {
        this.#log.error('runner.failed', { what: 'the master listener', error });
      }
    }
  }

  async #drain(graceMs: number): Promise<void> {
    if (this.#thread !== undefined && this.#failure === undefined) {
      this.#thread.post({ kind: 'leave', graceMs });
      await this.#left.promise;
    }
    await this.#end();
    this.#closed.resolve();
  }

  #died(error: LtsError): void {
    this.#fail(error);
    // It will not say it any more.
    this.#left.resolve();
  }

  /** It cannot go on: what runs is told so, what is finished lies in the FailStore. */
  #fail(error: LtsError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#log.error('process.failed', { error });
    this.#pool?.abortAll('lost');
    this.#started.reject(error);
    this.#connected.reject(error);
    void this.#failLater(error);
  }

  async #failLater(error: LtsError): Promise<void> {
    // Only a thread that lives can still store results; one that does not answer is not waited for.
    this.#thread?.post({ kind: 'leave', graceMs: 0 });
    await withDeadline(this.#left.promise, 5_000, 'storing results').catch(() => undefined);
    await this.#end();
    this.#closed.reject(error);
  }

  async #end(): Promise<void> {
    await this.#thread?.end();
    await this.#threads?.close();
  }
}

/** A promise with its levers, whose rejection need not be listened to. */
interface Signal {
  promise: Promise<void>;
  resolve(): void;
  reject(error: Error): void;
}

function signal(): Signal {
  let resolve: () => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
