import { systemClock } from '../../../shared/time/clock.js';
import { serve } from './child.js';
import { machineNow } from './machine-clock.js';
import { Witness, type WitnessRecord } from './witness.js';

/** The running side of a job system; its task does nothing but tell the witness its job's number. */
export interface Worker {
  /** Resolves when every job that ran so far has ended durably: its result acked, or its row gone. */
  flushed(): Promise<void>;
  close(): Promise<void>;
}

/** Which jobs to wait for: `count` different ones since the start. */
export interface Await {
  count: number;
  /** Gives up when nothing ran for so long. */
  stallMs: number;
}

/** Makes this process a worker: calls `open` with the contender's settings and the function that the task calls first. */
export function serveWorker<Settings>(open: (settings: Settings, ran: (jobNumber: number) => void) => Promise<Worker>): void {
  const witness = new Witness();
  let worker: Worker | undefined;
  serve({
    async open(settings: Settings) {
      worker = await open(settings, (jobNumber) => witness.ran(jobNumber));
    },
    /** The machine's time at which so many jobs had ended durably; when some never ran, at which the others had. */
    async ended(order: Await): Promise<number> {
      await ranOrStalled(witness, order);
      await worker?.flushed();
      return machineNow();
    },
    async close(): Promise<WitnessRecord> {
      await worker?.close();
      return witness.record();
    },
  });
}

async function ranOrStalled(witness: Witness, order: Await): Promise<void> {
  while (witness.distinct < order.count) {
    const before = witness.runs;
    const stalled = new AbortController();
    const reached = witness.reached(order.count).then(() => stalled.abort());
    await Promise.race([reached, systemClock.sleep(order.stallMs, stalled.signal).catch(() => undefined)]);
    if (witness.runs === before) return;
  }
}
