import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { eventually } from '../kit/eventually.js';
import type { Acked } from './queue-store-child.js';

const entry = fileURLToPath(new URL('queue-store-child.js', import.meta.url));

/** A process that has the store, and what it has said. */
export class StoreProcess {
  readonly #child: ChildProcess;
  #said = '';

  constructor(mode: 'loop' | 'hold', at: string, wrapper: readonly string[] = []) {
    const [command, ...args] = [...wrapper, process.execPath, entry, mode, at];
    this.#child = spawn(command as string, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
    this.#child.stdout?.on('data', (chunk: Buffer) => (this.#said += chunk.toString()));
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** Whole lines only: a half one was not acked. */
  get acked(): Acked[] {
    return this.#said.split('\n').slice(0, -1).map((line) => JSON.parse(line) as Acked);
  }

  async said(batches: number): Promise<void> {
    await eventually(() => this.acked.length >= batches, { withinMs: 30_000, what: `${batches} acked batches` });
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal);
  }

  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  get ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async kill(): Promise<void> {
    if (this.ended) return;
    const exit = once(this.#child, 'exit');
    // Its group: a wrapper would leave the store behind.
    process.kill(-this.pid, 'SIGKILL');
    await exit;
  }
}
