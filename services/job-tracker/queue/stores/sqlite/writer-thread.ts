import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../../../shared/time/clock.js';
import type { FeedbackSettlement, HeldEpoch, LogRow, OwnerIdentity, ReadyKey, ScheduleKey } from '../../queue-store.js';
import { type PackedBatch, unpackBatch } from './batch-codec.js';
import { packOutcomes } from './outcome-codec.js';
import { appendLogs, type LowWork, resendFeedback, settleFeedback } from './low-lane.js';
import { purge } from './purge.js';
import { answer, servedBy } from './serve-calls.js';
import type { CallMessage } from './store-thread.js';
import { JobPacker } from './packed-jobs.js';
import { Writer, type WriterOptions } from './writer.js';

/** So long without a call counts as idle. */
const idleMs = 50;

const port = parentPort as MessagePort;
const writer = new Writer(workerData as WriterOptions, (notice) => port.postMessage({ notice }));

/** Rows with their jobs packed. */
export interface PackedRows<T> {
  rows: T[];
  jobLengths: number[];
  jobs: Uint8Array<ArrayBuffer>;
}

function packRows<T extends { job?: Buffer | undefined }>(rows: T[]): PackedRows<T> {
  const jobs = new JobPacker();
  for (const row of rows) {
    jobs.add(row.job);
    row.job = undefined;
  }
  return { rows, jobLengths: jobs.lengths, jobs: jobs.finish() };
}

/** Answered at once, in their order. */
const served = {
  open: () => writer.open(),
  take: (partitions: readonly number[], owner: OwnerIdentity) => writer.take(partitions, owner),
  release: (held: readonly HeldEpoch[]) => writer.release(held),
  load: (partition: number) => writer.load(partition),
  readReady: (group: string, after: ReadyKey | undefined, limit: number) => packRows(writer.readReady(group, after, limit)),
  readSchedules: (partition: number, after: ScheduleKey | undefined, until: number, limit: number) =>
    packRows(writer.readSchedules(partition, after, until, limit)),
  readSchedule: (group: string, taskId: string) => writer.readSchedule(group, taskId),
  readFreeRuns: (group: string, taskId: string, limit: number) => writer.readFreeRuns(group, taskId, limit),
  readExecuting: (partition: number, afterSeq: number, limit: number) => writer.readExecuting(partition, afterSeq, limit),
  recount: (group: string, most: number) => writer.recount(group, most),
  nextDue: (partition: number) => writer.nextDue(partition),
  commit: (packed: PackedBatch) => packOutcomes(writer.commit(unpackBatch(packed))),
  close: () => {
    while (lane.length > 0) runStep();
    writer.close();
  },
};

/** One step at a time, when nothing else waits. */
const lower = {
  appendLogs: (lines: readonly LogRow[]) => appendLogs(writer, lines),
  settleFeedback: (settled: FeedbackSettlement) => settleFeedback(writer, settled),
  resendFeedback: (ids: readonly string[], group: string, now: number) => resendFeedback(writer, ids, group, now),
  purge: (before: number, limit: number) => purge(writer, before, limit),
};

type Results<L extends Record<string, (...args: never[]) => LowWork<unknown>>> = {
  [K in keyof L]: (...args: Parameters<L[K]>) => ReturnType<L[K]> extends LowWork<infer T> ? T : never;
};

/** What this thread serves. */
export type WriterCalls = typeof served & Results<typeof lower>;

const lane: { call: number; work: LowWork<unknown> }[] = [];
let stepping = false;

/** One step of the lower lane per turn of the loop: calls that arrive come between. */
function turn(): void {
  if (lane.length === 0) {
    stepping = false;
    return;
  }
  setImmediate(turn);
  runStep();
}

function runStep(): void {
  const [first] = lane;
  if (first === undefined) return;
  try {
    const { done, value } = first.work.next();
    if (done !== true) return;
    lane.shift();
    answer(port, first.call, () => value);
  } catch (error) {
    lane.shift();
    answer(port, first.call, () => {
      throw error;
    });
  }
}

function wake(): void {
  if (stepping) return;
  stepping = true;
  setImmediate(turn);
}

let calls = 0;
let watching = false;

/** When no call has come for a while, the log is moved into the file: it costs nobody a wait. */
function watchIdle(): void {
  if (watching) return;
  watching = true;
  const seen = calls;
  systemClock.after(idleMs, () => {
    watching = false;
    if (calls === seen) writer.checkpoint(true);
    else watchIdle();
  });
}

function transferOf(value: unknown): ArrayBuffer[] {
  const packed = value as Partial<PackedRows<unknown>> | undefined;
  return packed?.jobs === undefined ? [] : [packed.jobs.buffer];
}

port.on('message', (message: CallMessage) => {
  calls++;
  if (message.name in lower) {
    lane.push({ call: message.call, work: servedBy(lower, message)() as LowWork<unknown> });
    wake();
  } else {
    answer(port, message.call, servedBy(served, message), transferOf);
    if (message.name === 'commit') writer.checkpoint(false);
  }
  if (message.name !== 'close') watchIdle();
});
