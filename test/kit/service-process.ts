import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { packageRoot } from '../../shared/package-root.js';
import { eventually } from './eventually.js';

const running = new Set<ServiceProcess>();
process.on('exit', () => {
  for (const service of running) service.kill();
});

/** A real process of one service, started by the `lts` command. */
export class ServiceProcess {
  readonly #child: ChildProcess;
  #output = '';
  #ended: { code: number | null; signal: string | null } | undefined;

  /** @param args as on the command line, e.g. `job-tracker --listen 127.0.0.1:0` */
  constructor(args: readonly string[], env: Record<string, string> = {}) {
    this.#child = spawn(process.execPath, [join(packageRoot, 'dist/services/cli/main.js'), ...args], {
      cwd: packageRoot,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    this.#child.once('exit', (code, signal) => {
      this.#ended = { code, signal };
      running.delete(this);
    });
    running.add(this);
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** All that it has written, standard output and log. */
  get output(): string {
    return this.#output;
  }

  get ended(): { code: number | null; signal: string | null } | undefined {
    return this.#ended;
  }

  /** Log lines of one event, parsed. */
  logged(event: string): Record<string, unknown>[] {
    return this.#output
      .split('\n')
      .filter((line) => line.startsWith('{') && line.includes(`"event":"${event}"`))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** host:port that it serves on, once it has said so. */
  async address(withinMs = 15_000): Promise<string> {
    return eventually(
      () => {
        if (this.#ended !== undefined) throw new Error(`it ended: ${this.#output}`);
        return / serves on (\S+)/.exec(this.#output)?.[1];
      },
      { withinMs, what: `the address of the process ${this.#child.spawnargs.slice(2).join(' ')}` },
    );
  }

  /** Waits until it has written a text. */
  async says(text: string | RegExp, withinMs = 15_000): Promise<void> {
    const found = (): boolean => (typeof text === 'string' ? this.#output.includes(text) : text.test(this.#output));
    await eventually(found, { withinMs, what: `${String(text)} in the output:\n${this.#output.slice(-2_000)}` });
  }

  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** SIGKILL; a paused process dies too. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** SIGTERM, and waits for the end; gives the exit code. */
  async stop(withinMs = 20_000): Promise<number | null> {
    if (this.#ended === undefined) this.#child.kill('SIGTERM');
    return this.exited(withinMs);
  }

  /** Waits for the end; gives the exit code (null after a signal). */
  async exited(withinMs = 20_000): Promise<number | null> {
    if (this.#ended === undefined) {
      await Promise.race([once(this.#child, 'exit'), eventually(() => this.#ended, { withinMs, what: 'the end of the process' })]);
    }
    return this.#ended?.code ?? null;
  }
}
