import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Mastership } from '../../../shared/master/master-lease.js';
import type { Clock, Timer } from '../../../shared/time/clock.js';
import { readEnded } from '../report/ended-batch.js';
import type { Outbox } from '../report/outbox.js';
import type { ToStream } from '../stream/messages.js';
import type { Perform } from './runner-table.js';
import type { Run } from './run.js';
import type { RunnerThreadSettings, ToRunnerThread } from './thread-messages.js';

/** How long an aborted run may go on before its thread is ended, in milliseconds. */
const stopWithinMs = 2_000;

/** What the threads need of their surroundings. */
export interface ThreadPorts {
  /** The module that exports the runners. */
  url: string;
  outbox: Outbox;
  clock: Clock;
  mastership: () => Mastership;
}

/**
 * Threads for runners that asked for one of their own. A thread runs one task at a time and is kept for the next one.
 * There are never more than slots; idle ones beyond the number of processors are ended.
 */
export class ThreadRunners {
  readonly #ports: ThreadPorts;
  readonly #all = new Set<RunnerThread>();
  readonly #idle: RunnerThread[] = [];

  constructor(ports: ThreadPorts) {
    this.#ports = ports;
  }

  /** The perform function of a type. */
  perform(type: string): Perform {
    return async (_context, run) => {
      const thread = this.#idle.pop() ?? this.#spawn();
      try {
        await thread.run(type, run);
      } finally {
        if (thread.alive && this.#idle.length < availableParallelism()) this.#idle.push(thread);
        else await this.#end(thread);
      }
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((thread) => this.#end(thread)));
  }

  #spawn(): RunnerThread {
    const thread = new RunnerThread(this.#ports, () => this.#forget(thread));
    this.#all.add(thread);
    return thread;
  }

  async #end(thread: RunnerThread): Promise<void> {
    this.#forget(thread);
    await thread.end();
  }

  #forget(thread: RunnerThread): void {
    this.#all.delete(thread);
    const at = this.#idle.indexOf(thread);
    if (at >= 0) this.#idle.splice(at, 1);
  }
}

/** The flags of this process, whose loaders the runners may need; those of code on the command line fit no file. */
function loaderArguments(): string[] {
  return process.execArgv.some((argument) => argument.startsWith('--input-type')) ? [] : process.execArgv;
}

/** One run in a thread, waited for by the main thread. */
interface Waiting {
  run: Run;
  resolve(): void;
  reject(error: Error): void;
}

class RunnerThread {
  readonly #ports: ThreadPorts;
  readonly #worker: Worker;
  #waiting: Waiting | undefined;
  alive = true;

  constructor(ports: ThreadPorts, onGone: () => void) {
    this.#ports = ports;
    const workerData: RunnerThreadSettings = { url: ports.url };
    this.#worker = new Worker(new URL('runner-thread.js', import.meta.url), { workerData, execArgv: loaderArguments() });
    this.#worker.on('message', (message: ToStream) => this.#take(message));
    const gone = (error: Error): void => {
      this.alive = false;
      onGone();
      this.#waiting?.reject(error);
    };
    this.#worker.on('error', gone);
    this.#worker.on('exit', (code) => gone(new Error(`the runner's thread ended with code ${code} before the run did`)));
  }

  async run(type: string, run: Run): Promise<void> {
    const { clock } = this.#ports;
    let timer: Timer | undefined;
    const onAbort = (): void => {
      this.#post({ kind: 'abort', why: run.aborted ?? 'cancelled' });
      timer = clock.after(stopWithinMs, () => void this.end(), { unref: true });
    };
    try {
      await new Promise<void>((resolve, reject) => {
        this.#waiting = { run, resolve, reject };
        this.#post({ kind: 'run', type, facts: run.facts, job: run.jobBytes.slice(), mastership: this.#ports.mastership() });
        run.signal.addEventListener('abort', onAbort, { once: true });
      });
    } finally {
      this.#waiting = undefined;
      timer?.cancel();
      run.signal.removeEventListener('abort', onAbort);
    }
  }

  async end(): Promise<void> {
    this.alive = false;
    await this.#worker.terminate();
  }

  #post(message: ToRunnerThread): void {
    this.#worker.postMessage(message);
  }

  #take(message: ToStream): void {
    const waiting = this.#waiting;
    if (message.kind !== 'report' || waiting === undefined) return;
    const { outbox } = this.#ports;
    for (const line of message.lines ?? []) outbox.line(line);
    for (const progress of message.progress ?? []) outbox.progress(progress);
    if (message.ended === undefined) return;
    readEnded(message.ended, (_handle, _startedAt, _endedAt, details) => waiting.run.settle(details));
    waiting.resolve();
  }
}
