import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../shared/package-root.js';
import { eventually } from '../kit/eventually.js';

/** Debian's own Python: it has the gRPC packages, others on the path may not. */
const python = '/usr/bin/python3';

/** Python stubs made by protoc from proto/, in a folder of their own. */
export class PythonStubs {
  readonly folder = mkdtempSync(join(tmpdir(), 'lts-python-'));

  constructor() {
    const files = readdirSync(join(packageRoot, 'proto/lts/v1'), 'utf8').filter((name) => name.endsWith('.proto'));
    const plugin = execFileSync('which', ['grpc_python_plugin'], { encoding: 'utf8' }).trim();
    execFileSync('protoc', [
      `-I${join(packageRoot, 'proto')}`,
      `--python_out=${this.folder}`,
      `--grpc_python_out=${this.folder}`,
      `--plugin=protoc-gen-grpc_python=${plugin}`,
      ...files.map((name) => `lts/v1/${name}`),
    ]);
  }

  /** Starts one of the example programs of test/interop/python. */
  start(program: string, args: readonly string[]): PythonProgram {
    return new PythonProgram(this.folder, program, args);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A running example program. */
export class PythonProgram {
  readonly #child: ChildProcess;
  #output = '';
  #ended: { code: number | null } | undefined;

  constructor(stubs: string, program: string, args: readonly string[]) {
    this.#child = spawn(python, ['-u', join(packageRoot, 'test/interop/python', program), ...args], {
      env: { ...process.env, PYTHONPATH: stubs, PYTHONDONTWRITEBYTECODE: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    this.#child.once('exit', (code) => (this.#ended = { code }));
  }

  /** All that it has written. */
  get output(): string {
    return this.#output;
  }

  get lines(): string[] {
    return this.#output.trim().split('\n');
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.#child.kill(signal);
  }

  /** Waits for its end; gives the exit code. */
  async exited(withinMs = 30_000): Promise<number | null> {
    return (await eventually(() => this.#ended, { withinMs, what: `the end of the program; it wrote:\n${this.#output}` })).code;
  }
}
