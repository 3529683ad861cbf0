import type { Contender } from '../contender.js';
import { bullmq } from '../contenders/bullmq.js';
import { defaultGraphile, tunedGraphile } from '../contenders/graphile.js';
import { lts } from '../contenders/lts.js';
import { measureFdatasync, storeParent } from '../frame/disk.js';
import type { Options } from '../options.js';
import { type Report, roundMs, table } from '../report.js';
import { decimals, whole } from './numbers.js';
import { alternate, type Standing } from './rounds.js';
import type { Scenario } from './scenario.js';

/** The same work through our own services and, with --peers, through other job systems, turn by turn. */
export async function compare(scenario: Scenario, options: Options): Promise<Report> {
  const parent = storeParent();
  const fdatasyncMs = measureFdatasync(parent);
  const rivals: Contender[] = options.peers ? [tunedGraphile(parent), defaultGraphile(parent), bullmq(parent)] : [];
  const [ours, ...peers] = await alternate([lts({ ...options, parent }), ...rivals], scenario.work(options), options.rounds, (round, name, result) => {
    const { p50, p99 } = result.submitToStartMs;
    process.stderr.write(
      `round ${round} of ${options.rounds}  ${name}: ${whole(result.jobsPerSecond)} jobs/s, submit to start p50 ${decimals(p50)} ms, p99 ${decimals(p99)} ms\n`,
    );
  });
  if (ours === undefined) throw new Error('no contender ran');
  const rows = [ours, ...peers].map((standing) => [standing.name, ...scenario.row(standing, ours)]);
  return {
    text: `${describe(options, fdatasyncMs)}\n${table(['', ...scenario.headings], rows)}`,
    json: asJson(options, fdatasyncMs, ours, peers),
    fault: ours.lost + ours.duplicates === 0 ? undefined : `${ours.lost} jobs lost and ${ours.duplicates} repeated without any fault`,
  };
}

function describe({ scenario, store, trackers, groups, jobs, batch, inFlight, payload, rounds }: Options, fdatasyncMs: number): string {
  const how = scenario === 'latency' ? 'one at a time' : `${whole(batch)} a call, ${whole(inFlight)} calls in flight`;
  const where = `${store}, trackers ${trackers}, groups ${groups}`;
  return `${scenario}: ${where}; ${whole(jobs)} jobs, ${how}, ${whole(payload)} bytes of payload; medians of ${rounds} rounds; fdatasync ${decimals(fdatasyncMs)} ms`;
}

function asJson({ scenario, store, trackers, groups }: Options, fdatasyncMs: number, ours: Standing, peers: Standing[]): Record<string, unknown> {
  return {
    scenario,
    store,
    trackers,
    groups,
    ...figures(ours),
    fdatasync_ms: roundMs(fdatasyncMs),
    lost: ours.lost,
    duplicates: ours.duplicates,
    peers: Object.fromEntries(peers.map((peer) => [peer.name, { ...figures(peer), lost: peer.lost, duplicates: peer.duplicates }])),
  };
}

const figures = ({ jobsPerSecond, submitToStartMs: { p50, p99 } }: Standing) => ({
  jobs_per_s: Math.round(jobsPerSecond * 10) / 10,
  submit_to_start_ms: { p50: roundMs(p50), p99: roundMs(p99) },
});
