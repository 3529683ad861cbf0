import { systemClock } from '../../../shared/time/clock.js';
import { watchRss } from '../frame/memory.js';
import type { Options } from '../options.js';
import type { TimedJobs } from '../ours/timed-jobs.js';
import { TimedStage } from '../ours/timed-stage.js';
import { type Report, roundMs, table } from '../report.js';
import { decimals, ratio, whole } from './numbers.js';

/** So many of the jobs measure the rate, on the empty store and on the full one. */
const probeShare = 0.1;
const mostProbes = 50_000;
/** After a start: it comes to rest. */
const settleMs = 2_000;

/** Very many one-shot jobs wait for their time: what the tracker needs for it, and how fast it takes further ones. */
export async function waiting(options: Options): Promise<Report> {
  const stage = await TimedStage.start(options);
  try {
    const probes = Math.min(mostProbes, Math.ceil(options.jobs * probeShare));
    let sent = 0;
    const submit = (count: number): Promise<number> => {
      const jobs: TimedJobs = { kind: 'waiting', first: sent, count, at: systemClock.now() };
      sent += count;
      return stage.submit(jobs);
    };
    const empty = await submit(probes);
    await submit(options.jobs - probes);
    process.stderr.write(`${whole(options.jobs)} jobs wait\n`);
    const startupMs = await stage.restart();
    const rss = watchRss(stage.trackerPid);
    await systemClock.sleep(settleMs);
    const full = await submit(probes);
    const mb = rss();
    return {
      text: [
        `waiting: ${options.store}, groups ${options.groups}; ${whole(options.jobs)} one-shot jobs wait for their time`,
        table(['tracker MB', 'start-up s', 'submits/s on the empty store', 'with all of them', 'ratio'], [[whole(mb), decimals(startupMs / 1_000), whole(empty), whole(full), ratio(full, empty)]]),
      ].join('\n'),
      json: {
        scenario: 'waiting', store: options.store, groups: options.groups, jobs: options.jobs, rss_mb: Math.round(mb), startup_s: roundMs(startupMs / 1_000), submits_per_s_empty: Math.round(empty),
        submits_per_s: Math.round(full), ratio: Math.round((full / empty) * 1_000) / 1_000,
      },
      fault: undefined,
    };
  } finally {
    await stage.stop();
  }
}
