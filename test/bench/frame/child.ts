import { type ChildProcess, fork } from 'node:child_process';
import { withDeadline } from '../../../shared/time/deadline.js';

/** A call to a child process, and its answer. Carried by structured clone, so typed arrays stay what they are. */
interface Call {
  id: number;
  method: string;
  argument: unknown;
}

interface Answer {
  id: number;
  value?: unknown;
  error?: string;
}

/** What a child process serves: one argument, one answer per method. */
export type Methods = Record<string, (argument: never) => unknown>;

interface Waiting {
  resolve(value: unknown): void;
  reject(reason: Error): void;
}

/** A child process that runs one script and answers calls. It ends with its parent. */
export class Child {
  readonly #process: ChildProcess;
  readonly #exited: Promise<void>;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  constructor(script: URL, environment: Record<string, string> = {}) {
    this.#process = fork(script, [], {
      serialization: 'advanced',
      // Standard output belongs to the report.
      stdio: ['ignore', 2, 2, 'ipc'],
      env: { ...process.env, ...environment },
    });
    const atExit = (): boolean => this.#process.kill('SIGKILL');
    // Before the servers end, so that it has no lost connection to complain about.
    process.prependOnceListener('exit', atExit);
    this.#process.on('message', (answer: Answer) => this.#settle(answer));
    this.#exited = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => {
        process.off('exit', atExit);
        const reason = new Error(`${script.pathname} ended (code ${code}, signal ${signal}) before it answered`);
        for (const waiting of this.#waiting.values()) waiting.reject(reason);
        this.#waiting.clear();
        resolve();
      });
    });
  }

  /** Calls a method that the script serves. */
  call<Result>(method: string, argument?: unknown): Promise<Result> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.#process.send({ id, method, argument } satisfies Call, (error) => {
        if (error !== null) this.#settle({ id, error: error.message });
      });
    });
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  /** SIGKILL; resolves when it is gone. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#exited;
  }

  /** Ends the process; by force after 5 s. */
  async end(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    if (this.#process.connected) this.#process.disconnect();
    await withDeadline(this.#exited, 5_000, 'the end of a child process').catch(() => this.#process.kill('SIGKILL'));
    await this.#exited;
  }

  #settle(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (answer.error === undefined) waiting?.resolve(answer.value);
    else waiting?.reject(new Error(answer.error));
  }
}

/** In a child process: answers the parent's calls until the parent lets go of it. */
export function serve(methods: Methods): void {
  process.on('disconnect', () => process.exit(0));
  process.on('message', (call: Call) => {
    const answer = async (): Promise<Answer> => {
      const method = methods[call.method];
      if (method === undefined) throw new Error(`no method ${call.method}`);
      return { id: call.id, value: await method(call.argument as never) };
    };
    answer()
      .catch((error: unknown): Answer => ({ id: call.id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }))
      .then((result) => process.send?.(result), () => process.exit(1));
  });
}
