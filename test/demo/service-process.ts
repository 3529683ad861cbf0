import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { packageRoot } from '../../shared/package-root.js';
import { withDeadline } from '../../shared/time/deadline.js';

const startWithinMs = 20_000;
const leaveWithinMs = 8_000;

/** One service as a process of its own, started as users start it. Ends with this process at the latest. */
export class ServiceProcess {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #log = '';
  #running = true;

  private constructor(name: string, child: ChildProcess) {
    this.name = name;
    this.#child = child;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#log = (this.#log + text).slice(-4_000);
    });
    this.#exited = new Promise((resolve) => {
      child.once('exit', () => {
        this.#running = false;
        resolve();
      });
    });
    process.once('exit', () => this.#running && child.kill('SIGKILL'));
  }

  /** Starts `lts <service> <args>` and waits for the line that says it serves; gives the address of that line too. */
  static async start(name: string, args: string[]): Promise<{ service: ServiceProcess; address: string }> {
    const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('LTS_')));
    const child = spawn(process.execPath, [join(packageRoot, 'dist/services/cli/main.js'), ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const service = new ServiceProcess(name, child);
    const firstLine = new Promise<string>((resolve, reject) => {
      if (child.stdout !== null) createInterface({ input: child.stdout }).once('line', resolve);
      child.once('exit', (code) => reject(new Error(`${name} ended with code ${code}; its log ends with:\n${service.#log}`)));
    });
    const line = await withDeadline(firstLine, startWithinMs, `the start of ${name}`);
    return { service, address: line.split(' ').at(-1) ?? '' };
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** The end of what it logged. */
  get log(): string {
    return this.#log;
  }

  /** Ends it without a chance to say goodbye. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** Asks it to leave; by force when it takes too long. Tells whether it left by itself. */
  async stop(): Promise<boolean> {
    if (!this.#running) return true;
    this.#child.kill('SIGTERM');
    try {
      await withDeadline(this.#exited, leaveWithinMs, `the end of ${this.name}`);
      return true;
    } catch {
      await this.kill();
      return false;
    }
  }
}
