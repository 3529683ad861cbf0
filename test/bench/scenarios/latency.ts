import type { Scenario } from './scenario.js';
import { decimals, ratio, whole } from './numbers.js';

/**
 * How long an idle system takes from the submit call to the start of the runner. One job is there at a time, and the
 * next comes only after the last one ended durably and a short pause.
 */
export const latency: Scenario = {
  work: ({ jobs, payload }) => ({ scenario: 'latency', jobs, batch: 1, inFlight: 1, payload, warmUp: 50 }),
  headings: ['submit to start p50 ms', 'p99 ms', 'p50 by round', 'its p50 / ours', 'its p99 / ours', 'lost', 'duplicates'],
  row: (standing, ours) => [
    decimals(standing.submitToStartMs.p50),
    decimals(standing.submitToStartMs.p99),
    standing.rounds.map((round) => decimals(round.submitToStartMs.p50)).join('  '),
    standing === ours ? '' : ratio(standing.submitToStartMs.p50, ours.submitToStartMs.p50),
    standing === ours ? '' : ratio(standing.submitToStartMs.p99, ours.submitToStartMs.p99),
    whole(standing.lost),
    whole(standing.duplicates),
  ],
};
