import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ended, Started } from '../checker/history.js';

/** A line of the witness: with the task and the wall time of the worker. */
export type WitnessLine = (Started | (Ended & { fence: number })) & { task: string; at: number };

/** What the tasks have written so far, in order. */
export class Witness {
  readonly #file: string;

  constructor(folder: string) {
    this.#file = join(folder, 'witness.jsonl');
  }

  lines(): WitnessLine[] {
    if (!existsSync(this.#file)) return [];
    const text = readFileSync(this.#file, 'utf8');
    return text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as WitnessLine);
  }

  /** Runs that began, of one task or of all. */
  starts(task?: string): WitnessLine[] {
    return this.lines().filter((line) => line.kind === 'start' && (task === undefined || line.task === task));
  }

  /** Runs that ended, of one task or of all. */
  ends(task?: string): WitnessLine[] {
    return this.lines().filter((line) => line.kind === 'end' && (task === undefined || line.task === task));
  }
}
