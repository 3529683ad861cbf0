import { systemClock } from '../../../shared/time/clock.js';
import { startPostgres } from '../../kit/postgres.js';
import { startRedis } from '../../kit/redis.js';
import { Child } from '../frame/child.js';
import { storeParent } from '../frame/disk.js';
import type { Starts } from '../frame/start-record.js';
import { percentilesOf } from '../frame/statistics.js';
import type { BullmqSettings } from '../peers/bullmq-settings.js';
import type { GraphileSettings } from '../peers/graphile-settings.js';
import { roundMs } from '../report.js';

const minuteMs = 60_000;
/** They are given as many as they take in a reasonable time. */
const schedules = 10_000;
/** What was late when the watch ends. */
const settleMs = 5_000;

/** How far another job system gets with schedules that fire once a minute. */
export interface PeerTimers {
  schedules: number;
  load_per_s: number;
  lateness_ms: { p50: number; p99: number; max: number };
  /** Of the scheduled times that were watched. */
  fires: number;
  lost: number;
}

/** BullMQ's job schedulers, spread over the minute, and graphile-worker's crontab, whose grain is the minute. */
export async function timersOfPeers(minutes: number): Promise<Record<string, PeerTimers>> {
  const parent = storeParent();
  const redis = await startRedis({ parent });
  const bullmq = await watch(redis, new URL('../peers/bullmq-schedules.js', import.meta.url), { host: redis.host, port: redis.port, concurrency: 100 } satisfies BullmqSettings, minutes);
  const postgres = await startPostgres({ parent });
  const settings: GraphileSettings = { url: postgres.url, maxPoolSize: 26, worker: { concurrentJobs: 24, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } };
  return { bullmq, 'graphile-worker (tuned)': await watch(postgres, new URL('../peers/graphile-schedules.js', import.meta.url), settings, minutes) };
}

/** Whole minutes are watched: each schedule fires once in each. */
async function watch(server: { stop(): Promise<void> }, script: URL, settings: unknown, minutes: number): Promise<PeerTimers> {
  const child = new Child(script, { NO_LOG_SUCCESS: '1' });
  try {
    await child.call('open', settings);
    const perSecond = await child.call<number>('load', schedules);
    const from = Math.ceil(systemClock.now() / minuteMs) * minuteMs;
    const to = from + Math.ceil(minutes) * minuteMs;
    await systemClock.sleep(to + settleMs - systemClock.now());
    const { job, scheduledAt, startedAt } = await child.call<Starts>('starts');
    const late = new Map<string, number>();
    for (const [i, time] of scheduledAt.entries()) {
      const key = `${job[i]} ${time}`;
      if (time >= from && time < to && !late.has(key)) late.set(key, (startedAt[i] ?? Number.NaN) - time);
    }
    const all = Float64Array.from(late.values());
    const { p50, p99 } = percentilesOf(all);
    const fires = schedules * Math.ceil(minutes);
    return { schedules, load_per_s: Math.round(perSecond), lateness_ms: { p50: roundMs(p50), p99: roundMs(p99), max: roundMs(Math.max(...all)) }, fires, lost: fires - late.size };
  } finally {
    await child.end();
    await server.stop();
  }
}
