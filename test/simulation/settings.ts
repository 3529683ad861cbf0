import { Random } from './random.js';

/** What a seed makes of a run. Times in milliseconds of virtual time. */
export interface Settings {
  seed: number;
  /** The faults end at faultsUntilMs, and progress is required then; otherwise they never end, and only safety is. */
  heals: boolean;
  partitions: number;
  groups: number;
  workersPerGroup: number;
  graceMs: number;
  /** A statement that is not answered by then is given up. */
  storeDeadlineMs: number;
  backlogLimit: number;
  loadEveryMs: number;
  burst: number;
  loadUntilMs: number;
  faultsUntilMs: number;
  faultEveryMs: number;
  /** Operators change limits and drain trackers this often. */
  operateEveryMs: number;
  /** The store has a clock of its own, as a database server has. */
  storeHasClock: boolean;
  /** Clocks are set by up to so much. */
  stepMs: number;
  /** How often a client does something with schedules, of all that it does. */
  scheduleShare: number;
}

/** Almost: an id that was made a day ahead is refused. */
const dayMs = 86_000_000;

export function settingsOf(seed: number): Settings {
  const random = new Random(seed);
  const heals = seed % 2 === 0;
  const partitions = random.pick([1, 1, 4, 8]);
  const groups = partitions === 1 ? random.int(1, 2) : random.int(4, 8);
  const faultsUntilMs = random.between(60_000, 200_000);
  return {
    seed,
    heals,
    partitions,
    groups,
    workersPerGroup: partitions === 1 ? random.int(2, 4) : 1,
    graceMs: random.pick([3_000, 15_000]),
    storeDeadlineMs: random.pick([3_000, 20_000]),
    backlogLimit: random.pick([40, 100_000, 100_000]),
    loadEveryMs: random.pick([500, 1_500, 4_000]),
    burst: random.pick([10, 20, 120]),
    loadUntilMs: faultsUntilMs + 15_000,
    faultsUntilMs,
    faultEveryMs: random.pick([1_500, 4_000, 10_000, 30_000]),
    operateEveryMs: random.pick([3_000, 10_000, 60_000]),
    storeHasClock: random.chance(0.5),
    stepMs: random.pick([5_000, 5_000, 5_000, 3_600_000, dayMs]),
    scheduleShare: random.pick([0.05, 0.2, 0.5]),
  };
}
