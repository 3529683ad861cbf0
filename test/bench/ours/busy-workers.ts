import { systemClock } from '../../../shared/time/clock.js';
import { serve } from '../frame/child.js';
import { machineNow } from '../frame/machine-clock.js';
import { percentilesOf } from '../frame/statistics.js';
import { LightWorker } from './light-worker.js';
import { type LtsSettings, nodeGroupOf } from './settings.js';

/** How long every run takes, and for how long they are watched. */
export interface BusyOrder {
  runMs: number;
  warmUpMs: number;
  watchMs: number;
}

/** What was seen meanwhile. */
export interface BusyRecord {
  /** Runs that began. */
  started: number;
  /** From the end of a run, which frees its slot, to the next start in the same worker. */
  slotWaitMs: { p50: number; p99: number };
}

/** Workers that are always busy, one a group, in this process. */
let order: BusyOrder = { runMs: 0, warmUpMs: 0, watchMs: 0 };
let watching = false;
let started = 0;
let waits: number[] = [];
let workers: LightWorker[] = [];

async function run(free: number[]): Promise<void> {
  const freedAt = free.shift();
  if (watching) {
    started += 1;
    if (freedAt !== undefined) waits.push(machineNow() - freedAt);
  }
  if (order.runMs > 0) await systemClock.sleep(order.runMs);
  free.push(machineNow());
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
  async watch(next: BusyOrder): Promise<BusyRecord> {
    order = next;
    await systemClock.sleep(order.warmUpMs);
    started = 0;
    waits = [];
    watching = true;
    await systemClock.sleep(order.watchMs);
    watching = false;
    return { started, slotWaitMs: percentilesOf(Float64Array.from(waits)) };
  },
  close() {
    for (const worker of workers) worker.close();
  },
});
