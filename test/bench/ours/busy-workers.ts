import { systemClock } from '../../../shared/time/clock.js';
import { serve } from '../frame/child.js';
import { machineNow } from '../frame/machine-clock.js';
import { percentilesOf } from '../frame/statistics.js';
import { LightWorker } from './light-worker.js';
import { type LtsSettings, nodeGroupOf } from './settings.js';

/** How long every run takes, and for how long they are watched. */
export interface BusyOrder {
  runMs: number;
  warmUp: Span;
  watch: Span;
}

/** Ends after this time, or as soon as this many runs have begun in it: what waits must last for all of them. */
export interface Span {
  ms: number;
  runs: number;
}

/** What was seen meanwhile. */
export interface BusyRecord {
  perSecond: number;
  /** From the end of a run, which frees its slot, to the next start in the same worker. */
  slotWaitMs: { p50: number; p99: number };
}

/** Workers that are always busy, one a group, in this process. */
let runMs = 0;
let watching = false;
let started = 0;
let enough = { runs: Infinity, reached: (): void => undefined };
let waits: number[] = [];
let workers: LightWorker[] = [];

async function run(free: number[]): Promise<void> {
  const freedAt = free.shift();
  started += 1;
  if (started === enough.runs) enough.reached();
  if (watching && freedAt !== undefined) waits.push(machineNow() - freedAt);
  if (runMs > 0) await systemClock.sleep(runMs);
  free.push(machineNow());
}

/** Tells how many runs began in how many milliseconds. */
async function pass({ ms, runs }: Span): Promise<{ started: number; tookMs: number }> {
  const from = machineNow();
  started = 0;
  await Promise.race([systemClock.sleep(ms), new Promise<void>((reached) => (enough = { runs, reached }))]);
  return { started, tookMs: machineNow() - from };
}

serve({
  async open({ trackers: [tracker], groups, workThreads }: LtsSettings) {
    if (tracker === undefined) throw new Error('there is no tracker');
    workers = Array.from({ length: groups }, (_, group) => {
      const free: number[] = [];
      return new LightWorker(tracker, nodeGroupOf(group, groups), Math.ceil(workThreads / groups), () => run(free));
    });
    await Promise.all(workers.map((worker) => worker.online()));
  },
  async watch(order: BusyOrder): Promise<BusyRecord> {
    runMs = order.runMs;
    await pass(order.warmUp);
    waits = [];
    watching = true;
    const watched = await pass(order.watch);
    watching = false;
    return { perSecond: (watched.started / watched.tookMs) * 1_000, slotWaitMs: percentilesOf(Float64Array.from(waits)) };
  },
  close() {
    for (const worker of workers) worker.close();
  },
});
