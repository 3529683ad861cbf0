import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../shared/time/clock.js';
import { withDeadline } from '../../shared/time/deadline.js';

/** The operating system's user that a server runs as. */
export interface OsUser {
  uid: number;
  gid: number;
}

/** A foreign server program to start for one test or benchmark. */
export interface ServerProgram {
  /** For messages and the name of its folder. */
  name: string;
  command: string;
  /** Its arguments, given its private folder. */
  args: string[];
  /** Its private folder; deleted when the server is stopped. */
  folder: string;
  /** The signal that makes it stop in order. */
  stopSignal: NodeJS.Signals;
  user?: OsUser | undefined;
}

/** A new private folder under `parent`, owned by the server's user. */
export function serverFolder(name: string, parent = tmpdir(), user?: OsUser): string {
  const folder = mkdtempSync(join(parent, `${name}-`));
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  return folder;
}

/** A running server of our own: ends with this process at the latest, and takes its folder with it. */
export class OwnServer {
  readonly #program: ServerProgram;
  #child: ChildProcess;
  #exited: Promise<void>;
  #running = true;

  constructor(program: ServerProgram) {
    this.#program = program;
    [this.#child, this.#exited] = this.#spawn();
    process.once('exit', this.#atExit);
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  get running(): boolean {
    return this.#running;
  }

  /** Tries `probe` until it succeeds; fails early with the server's own words when the server ends. */
  async ready(probe: () => Promise<void>, withinMs = 20_000): Promise<void> {
    const until = systemClock.monotonic() + withinMs;
    for (;;) {
      try {
        return await probe();
      } catch (error) {
        if (this.#running && systemClock.monotonic() < until) {
          await systemClock.sleep(20);
          continue;
        }
        const state = this.#running ? `is not ready after ${withinMs} ms` : `ended with code ${this.#child.exitCode}`;
        const log = readFileSync(join(this.#program.folder, 'server.log'), 'utf8').slice(-2_000);
        await this.stop();
        throw new Error(`${this.#program.name} ${state}; its log ends with:\n${log}`, { cause: error });
      }
    }
  }

  /** Ends it by a signal and keeps its folder; resolves when it is gone. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#child.kill(signal);
    await this.#exited;
  }

  /** Starts it again on its folder after it has ended. */
  restart(): void {
    if (this.#running) return;
    this.#running = true;
    [this.#child, this.#exited] = this.#spawn();
  }

  /** Stops it in order, by force after 10 s, and deletes its folder. */
  async stop(): Promise<void> {
    if (this.#running) {
      this.#child.kill(this.#program.stopSignal);
      await withDeadline(this.#exited, 10_000, `stopping ${this.#program.name}`).catch(() => this.#child.kill('SIGKILL'));
      await this.#exited;
    }
    process.off('exit', this.#atExit);
    rmSync(this.#program.folder, { recursive: true, force: true });
  }

  #spawn(): [ChildProcess, Promise<void>] {
    const { command, args, folder, user } = this.#program;
    const log = openSync(join(folder, 'server.log'), 'a');
    const child = spawn(command, args, { cwd: folder, stdio: ['ignore', log, log], ...user });
    closeSync(log);
    const exited = new Promise<void>((resolve) => {
      const ended = (): void => {
        this.#running = false;
        resolve();
      };
      child.once('exit', ended).once('error', ended);
    });
    return [child, exited];
  }

  readonly #atExit = (): void => {
    if (this.#running) this.#child.kill('SIGKILL');
    rmSync(this.#program.folder, { recursive: true, force: true, maxRetries: 5 });
  };
}
