import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../shared/package-root.js';
import { eventually } from '../kit/eventually.js';
import { clocksCanBeSet, WallClock } from '../kit/wall-clock.js';

export interface ProgramOptions {
  name: string;
  /** Script below `dist/` and its arguments. */
  command: readonly string[];
  /** Folder of its logs and of its clock. */
  folder: string;
  /** What it writes once it is at work. */
  readyWhen: RegExp;
  /** It ended and nobody had asked it to. */
  onDied: (how: string) => void;
}

const started = new Set<Program>();
process.on('exit', () => {
  for (const program of started) program.signal('SIGKILL');
});

/** One Node.js process of the cluster, which may be killed and started again; each life writes a log of its own. */
export class Program {
  readonly name: string;
  readonly #options: ProgramOptions;
  /** Undefined: it cannot be set here. */
  readonly #clock: WallClock | undefined;
  #child: ChildProcess | undefined;
  #starts = 0;
  #atWork = false;
  /** Its end is our doing. */
  #wanted = false;

  constructor(options: ProgramOptions) {
    this.name = options.name;
    this.#options = options;
    this.#clock = clocksCanBeSet ? new WallClock(join(options.folder, `${options.name}.clock`), 0) : undefined;
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.alive ? this.#child?.pid : undefined;
  }

  get alive(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Whether it has said that it works since it was started last: before that a signal for its program may end it. */
  get atWork(): boolean {
    return this.alive && this.#atWork;
  }

  /** Resolves when it is at work. Rejects when it ends before, or is not at work in time. */
  async start(withinMs = 60_000): Promise<void> {
    const path = join(this.#options.folder, `${this.name}-${++this.#starts}.log`);
    const log = openSync(path, 'a');
    const [script = '', ...args] = this.#options.command;
    const child = spawn(process.execPath, [join(packageRoot, 'dist', script), ...args], { cwd: packageRoot, env: { ...process.env, ...this.#clock?.env }, stdio: ['ignore', log, log] });
    closeSync(log);
    this.#child = child;
    this.#atWork = false;
    started.add(this);
    child.once('exit', () => {
      if (this.#child === child && !this.#wanted) this.#options.onDied(`exit ${child.exitCode ?? child.signalCode}, see ${path}`);
    });
    this.#wanted = false;
    const ready = (): boolean => {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended with ${child.exitCode ?? child.signalCode}`);
      return this.#options.readyWhen.test(readFileSync(path, 'utf8'));
    };
    await eventually(() => this.#wanted || ready(), { withinMs, everyMs: 100, what: `${this.name} is at work (see ${path})` });
    this.#atWork = this.#child === child && !this.#wanted;
  }

  /** SIGKILL; resolves when it is gone. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** SIGTERM; resolves when it is gone. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  signal(signal: NodeJS.Signals): void {
    if (this.alive) this.#child?.kill(signal);
  }

  /** Its wall clock is off by so much, within a second. Needs `clocksCanBeSet`. */
  setClock(offsetMs: number): void {
    this.#clock?.set(offsetMs);
  }

  /** Memory and open files of the process as it is now. */
  usage(): { pid: number; rssMb: number; files: number } | undefined {
    const { pid } = this;
    if (pid === undefined) return undefined;
    try {
      const rss = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
      return rss === undefined ? undefined : { pid, rssMb: Number(rss) / 1024, files: readdirSync(`/proc/${pid}/fd`).length };
    } catch {
      // It ended between the two.
      return undefined;
    }
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#wanted = true;
    const child = this.#child;
    if (child === undefined || !this.alive) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }
}
