import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A submission that was acked as durable. */
export interface Acked {
  kind: 'acked';
  id: string;
  /** on_worker_loss FAIL was asked for. */
  atMostOnce: boolean;
  needFeedback: boolean;
  /** It was durable on the disk of the JobClient only. */
  local?: boolean;
}

/** A submission that was refused, or whose answer did not come: nothing was promised. */
export interface Refused {
  kind: 'refused';
  at: number;
}

/** A cancel that was acked. */
export interface Cancelled {
  kind: 'cancelled';
  id: string;
  /** The answer was that it has ended as CANCELLED; otherwise that it will end. */
  done: boolean;
  /** Number of the last attempt that was in the store after the ack. */
  attempts: number;
}

/** A run began, written by the task itself. Files are opened for appending, so their order is the order of events. */
export interface Started {
  kind: 'start';
  id: string;
  attempt: number;
  fence: number;
  pid: number;
  /** The group, where one process works for several; when, where it matters. */
  group?: string;
  at?: number;
}

/** A run ended, written by the task itself. */
export interface Ended {
  kind: 'end';
  id: string;
  attempt: number;
  pid: number;
  group?: string;
  at?: number;
}

/** A worker as it was started. */
export interface WorkerStarted {
  kind: 'worker';
  pid: number;
  group?: string;
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

/** An attempt that had not begun was sent again, under the same number and token; it belongs to the later owner now. */
export interface Resent {
  kind: 'resent';
  id: string;
  attempt: number;
}

/** Commits of owners of one partition, in the order of the store: the epoch of each, without repeats in a row. */
export interface Owners {
  kind: 'owners';
  partition: number;
  epochs: number[];
}

/** What a process uses at the end, and what it may. */
export interface Resources {
  kind: 'resources';
  process: string;
  rssMb: number;
  rssLimitMb: number;
  files: number;
  filesLimit: number;
}

export type Event = Acked | Refused | Cancelled | Started | Ended | WorkerStarted | Delivered | Stored | Election | Recovered | Resent | Owners | Resources;

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
