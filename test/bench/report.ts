import Table from 'cli-table3';
import type { ScenarioName } from './options.js';
import type { Standing } from './scenarios/rounds.js';
import type { Scenario } from './scenarios/scenario.js';

/** The figures of one run of the benchmark. */
export interface Outcome {
  scenario: ScenarioName;
  /** Median of one small write with fdatasync where the stores are, in milliseconds. */
  fdatasyncMs: number;
  ours: Standing;
  peers: Standing[];
}

/** The table for people. */
export function asTable(scenario: Scenario, { ours, peers }: Outcome): string {
  const table = new Table({ head: ['', ...scenario.headings], style: { head: [], border: [] }, wordWrap: true });
  for (const standing of [ours, ...peers]) table.push([standing.name, ...scenario.row(standing, ours)]);
  return table.toString();
}

/** The one line for programs. */
export function asJson({ scenario, fdatasyncMs, ours, peers }: Outcome): string {
  return JSON.stringify({
    scenario,
    ...figures(ours),
    fdatasync_ms: round(fdatasyncMs),
    lost: ours.lost,
    duplicates: ours.duplicates,
    peers: Object.fromEntries(peers.map((peer) => [peer.name, { ...figures(peer), lost: peer.lost, duplicates: peer.duplicates }])),
  });
}

const figures = ({ jobsPerSecond, submitToStartMs: { p50, p99 } }: Standing) => ({
  jobs_per_s: Math.round(jobsPerSecond * 10) / 10,
  submit_to_start_ms: { p50: round(p50), p99: round(p99) },
});

/** To the microsecond. */
const round = (ms: number): number => Math.round(ms * 1_000) / 1_000;
