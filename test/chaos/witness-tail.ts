import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

interface Waiting {
  since: number;
  groups: Set<string>;
  done: (at: number) => void;
}

const mostAtOnce = 4 * 1024 * 1024;
const linePattern = /"kind":"start".*"group":"([^"]+)","at":(\d+)/;

/** Follows the witness while it is written: when has work gone on in each group? */
export class WitnessTail {
  readonly #file: string;
  readonly #groups: readonly string[];
  readonly #waiting = new Set<Waiting>();
  readonly #buffer = Buffer.alloc(mostAtOnce);
  #at = 0;
  #rest = '';
  /** Runs that have begun. */
  starts = 0;

  constructor(history: string, groups: readonly string[]) {
    this.#file = join(history, 'witness.jsonl');
    this.#groups = groups;
  }

  /** Calls back with the host time at which the last of the groups has begun a run since then. */
  whenAllWork(since: number, done: (at: number) => void): void {
    this.#waiting.add({ since, groups: new Set(this.#groups), done });
  }

  /** Groups that have not begun a run since the newest call of `whenAllWork`. */
  get idle(): string[] {
    return [...([...this.#waiting].at(-1)?.groups ?? [])];
  }

  /** Reads what is new. */
  poll(): void {
    if (!existsSync(this.#file)) return;
    const file = openSync(this.#file, 'r');
    try {
      for (let bytes = 1; bytes > 0; this.#at += bytes) {
        bytes = readSync(file, this.#buffer, 0, mostAtOnce, this.#at);
        const lines = (this.#rest + this.#buffer.toString('latin1', 0, bytes)).split('\n');
        this.#rest = lines.pop() ?? '';
        for (const line of lines) this.#take(line);
      }
    } finally {
      closeSync(file);
    }
  }

  #take(line: string): void {
    const [, group = '', at = ''] = linePattern.exec(line) ?? [];
    if (group === '') return;
    this.starts++;
    for (const waiting of this.#waiting) {
      if (Number(at) < waiting.since) continue;
      waiting.groups.delete(group);
      if (waiting.groups.size > 0) continue;
      this.#waiting.delete(waiting);
      waiting.done(Number(at));
    }
  }
}
