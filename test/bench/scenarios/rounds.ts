import type { Contender, Measurement, Percentiles, Work } from '../contender.js';
import { median } from '../frame/statistics.js';

/** What one contender did over all rounds: medians of the figures, sums of the faults. */
export interface Standing {
  name: string;
  rounds: Measurement[];
  jobsPerSecond: number;
  submitToStartMs: Percentiles;
  lost: number;
  duplicates: number;
}

/**
 * Lets the contenders do the same work in turn (A B C, A B C, …), so that a slow moment of the machine hits all of
 * them. Each turn starts on an empty store and stops its servers, so that nobody works in the background of another.
 */
export async function alternate(contenders: Contender[], work: Work, rounds: number, onTurn: (round: number, name: string, result: Measurement) => void): Promise<Standing[]> {
  const measured = contenders.map((contender) => ({ contender, results: [] as Measurement[] }));
  for (let round = 1; round <= rounds; round++) {
    for (const { contender, results } of measured) {
      const result = await turn(contender, work);
      results.push(result);
      onTurn(round, contender.name, result);
    }
  }
  return measured.map(({ contender, results }) => standing(contender.name, results));
}

async function turn(contender: Contender, work: Work): Promise<Measurement> {
  try {
    await contender.start();
    return await contender.run(work);
  } finally {
    await contender.stop();
  }
}

export function standing(name: string, rounds: Measurement[]): Standing {
  const middle = (value: (round: Measurement) => number): number => median(rounds.map(value));
  const sum = (value: (round: Measurement) => number): number => rounds.reduce((total, round) => total + value(round), 0);
  return {
    name,
    rounds,
    jobsPerSecond: middle((round) => round.jobsPerSecond),
    submitToStartMs: { p50: middle((round) => round.submitToStartMs.p50), p99: middle((round) => round.submitToStartMs.p99) },
    lost: sum((round) => round.lost),
    duplicates: sum((round) => round.duplicates),
  };
}
