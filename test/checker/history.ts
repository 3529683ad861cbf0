import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A submission that was acked as durable. */
export interface Acked {
  kind: 'acked';
  id: string;
  /** on_worker_loss FAIL was asked for. */
  atMostOnce: boolean;
  needFeedback: boolean;
}

/** A run began, written by the task itself. Files are opened for appending, so their order is the order of events. */
export interface Started {
  kind: 'start';
  id: string;
  attempt: number;
  fence: number;
  pid: number;
}

/** A run ended, written by the task itself. */
export interface Ended {
  kind: 'end';
  id: string;
  attempt: number;
  pid: number;
}

/** A worker process as it was started. */
export interface WorkerStarted {
  kind: 'worker';
  pid: number;
  workThreads: number;
}

/** A result that a JobClient handled. */
export interface Delivered {
  kind: 'result';
  id: string;
  state: string;
}

/** An instance as the store has it after the quiet time. */
export interface Stored {
  kind: 'stored';
  id: string;
  state: string;
  attempts: { attempt: number; fence: number; outcome: string }[];
}

/** The election after the quiet time. */
export interface Election {
  kind: 'election';
  nodes: number;
  trackers: number;
}

/** How long after the last fault was healed work was dispatched again. */
export interface Recovered {
  kind: 'recovered';
  afterMs: number;
  limitMs: number;
}

export type Event = Acked | Started | Ended | WorkerStarted | Delivered | Stored | Election | Recovered;

/** Fences carry their epoch above this. */
const fencesPerEpoch = 2 ** 32;

/** The epoch of a fencing token. */
export function epochOf(fence: number): number {
  return Math.floor(fence / fencesPerEpoch);
}

/** Adds an event to a file of the history. */
export function record(folder: string, file: string, event: Event): void {
  appendFileSync(join(folder, `${file}.jsonl`), `${JSON.stringify(event)}\n`);
}

/** All events of a folder, file by file; a line that a killed process did not finish is left out. */
export function readHistory(folder: string): Event[] {
  if (!existsSync(folder)) throw new Error(`there is no history in ${folder}`);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').flatMap(parseLine));
}

function parseLine(line: string): Event[] {
  if (line === '') return [];
  try {
    return [JSON.parse(line) as Event];
  } catch {
    return [];
  }
}
