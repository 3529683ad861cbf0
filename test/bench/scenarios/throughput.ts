import type { Scenario } from './scenario.js';
import { decimals, ratio, whole } from './numbers.js';

/**
 * How many jobs per second go all the way: submitted, acked, run, and durably ended. The clock runs from the first
 * submit call to the last durable end, so a backlog that is left over counts as time, not as speed.
 */
export const throughput: Scenario = {
  work: ({ jobs, batch, inFlight, payload }) => ({ scenario: 'throughput', jobs, batch, inFlight, payload, warmUp: Math.min(2_000, Math.ceil(jobs / 10)) }),
  headings: ['jobs/s, median', 'jobs/s by round', 'ours is', 'submit to start p50 ms', 'p99 ms', 'lost', 'duplicates'],
  row: (standing, ours) => [
    whole(standing.jobsPerSecond),
    standing.rounds.map((round) => whole(round.jobsPerSecond)).join('  '),
    standing === ours ? '' : ratio(ours.jobsPerSecond, standing.jobsPerSecond),
    decimals(standing.submitToStartMs.p50),
    decimals(standing.submitToStartMs.p99),
    whole(standing.lost),
    whole(standing.duplicates),
  ],
};
