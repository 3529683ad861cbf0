import { parseArgs } from 'node:util';
import { BadArguments, readArguments } from '../kit/read-arguments.js';

export const usage = `npm run bench -- --scenario NAME [options]

  --scenario NAME   throughput: all jobs as fast as they go; latency: one at a time, idle in between;
                    groups: how long a free slot waits, with many groups and with one;
                    failover: an owner is killed and another drained under load, on --store postgres
                    timers: many schedules; how late each fire is, while others are edited, then very many at once;
                    waiting: many one-shot jobs that wait for their time
  --store NAME      the store behind our trackers: sqlite (default) or postgres
  --trackers N      trackers that share the groups, with a ZooKeeper (default 1; more need --store postgres)
  --groups N        node groups among which the jobs are spread (default 1; groups 200)
  --jobs N          jobs per round (default 100000; latency 500; groups: per group, 10000; waiting 1000000)
  --batch N         jobs per submit call (default 100; throughput only)
  --in-flight N     submit calls in flight (default 4, 64 with --batch 1; throughput only)
  --schedules N     schedules (default 1000000; timers only)
  --minutes N       how long fires are watched, such as 10 or 0.5 (default 1; timers only)
  --payload N       bytes of payload per job (default 100)
  --rounds N        rounds; medians are shown (default 3; groups and failover 1; timers and waiting have one)
  --peers           the same work on graphile-worker and BullMQ as well, alternating round by round
                    (timers: after it, as many schedules as they take)
  --json            the last line is one JSON object
`;

export const scenarioNames = ['throughput', 'latency', 'groups', 'failover', 'timers', 'waiting'] as const;
export type ScenarioName = (typeof scenarioNames)[number];

export const storeNames = ['sqlite', 'postgres'] as const;
export type StoreName = (typeof storeNames)[number];

export interface Options {
  scenario: ScenarioName;
  store: StoreName;
  trackers: number;
  groups: number;
  jobs: number;
  batch: number;
  inFlight: number;
  /** Bytes per job. */
  payload: number;
  rounds: number;
  schedules: number;
  minutes: number;
  peers: boolean;
  json: boolean;
}

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const known = {
  scenario: text,
  store: text,
  trackers: text,
  groups: text,
  jobs: text,
  batch: text,
  'in-flight': text,
  payload: text,
  rounds: text,
  schedules: text,
  minutes: text,
  peers: flag,
  json: flag,
  help: { ...flag, short: 'h' },
} as const;

const usualJobs = { throughput: 100_000, latency: 500, groups: 10_000, failover: 5_000, timers: 0, waiting: 1_000_000 } as const;
const usualGroups = { throughput: 1, latency: 1, groups: 200, failover: 16, timers: 1, waiting: 1 } as const;

/** A call of our own carries at most 4 MiB. */
const longestBatchBytes = 4 * 1024 * 1024;

/** Reads the command line; undefined when it asks for help. Throws BadArguments. */
export function readOptions(args: string[]): Options | undefined {
  const values = readArguments(() => parseArgs({ args, options: known, allowPositionals: false }).values);
  if (values.help === true) return undefined;
  const scenario = oneOf('scenario', values.scenario, scenarioNames);
  const throughput = scenario === 'throughput';
  refuseForeign(scenario, values, 'throughput', ['batch', 'in-flight']);
  refuseForeign(scenario, values, 'timers', ['schedules', 'minutes']);
  const compared = throughput || scenario === 'latency';
  if (values.peers === true && !compared && scenario !== 'timers') throw new BadArguments(`--peers belongs to --scenario throughput, latency or timers, not to ${scenario}`);
  const batch = number('batch', values.batch, scenario === 'latency' ? 1 : 100, 1, 1_000);
  const payload = number('payload', values.payload, 100, 0, 1024 * 1024);
  if (batch * payload > longestBatchBytes) {
    throw new BadArguments(`--batch ${batch} of --payload ${payload} bytes is ${batch * payload} bytes a call; the limit is ${longestBatchBytes}`);
  }
  const store = oneOf('store', values.store ?? (scenario === 'failover' ? 'postgres' : 'sqlite'), storeNames);
  const trackers = number('trackers', values.trackers, scenario === 'failover' ? 3 : 1, 1, 3);
  if (store === 'sqlite' && trackers > 1) throw new BadArguments(`--trackers ${trackers} needs --store postgres: one SQLite file has one owner`);
  if (['groups', 'timers', 'waiting'].includes(scenario) && trackers > 1) throw new BadArguments(`--scenario ${scenario} measures one tracker`);
  if (scenario === 'failover' && trackers < 2) throw new BadArguments('--scenario failover needs --trackers 2 or 3: somebody has to take over');
  return {
    scenario,
    store,
    trackers,
    groups: number('groups', values.groups, usualGroups[scenario], 1, 1_000),
    jobs: number('jobs', values.jobs, usualJobs[scenario], 1, 10_000_000),
    batch,
    inFlight: number('in-flight', values['in-flight'], scenario === 'latency' ? 1 : batch === 1 ? 64 : 4, 1, 1_000),
    payload,
    rounds: number('rounds', values.rounds, compared ? 3 : 1, 1, scenario === 'timers' || scenario === 'waiting' ? 1 : 100),
    schedules: number('schedules', values.schedules, 1_000_000, 1_000, 10_000_000),
    minutes: minutes(values.minutes),
    peers: values.peers ?? false,
    json: values.json ?? false,
  };
}

function refuseForeign<Name extends string>(scenario: ScenarioName, values: Partial<Record<Name, unknown>>, home: ScenarioName, names: readonly Name[]): void {
  const foreign = scenario === home ? undefined : names.find((name) => values[name] !== undefined);
  if (foreign !== undefined) throw new BadArguments(`--${foreign} belongs to --scenario ${home}, not to ${scenario}`);
}

function minutes(value: string | undefined): number {
  const given = value === undefined ? 1 : /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
  if (given >= 0.05 && given <= 1_440) return given;
  throw new BadArguments(`--minutes cannot be "${value}"; give a number from 0.05 to 1440`);
}

function oneOf<Choice extends string>(name: string, value: string | undefined, choices: readonly Choice[]): Choice {
  const chosen = choices.find((choice) => choice === value);
  if (chosen !== undefined) return chosen;
  const given = value === undefined ? `--${name} is missing` : `--${name} cannot be "${value}"`;
  throw new BadArguments(`${given}; choose ${choices.join(', ')}`);
}

function number(name: string, value: string | undefined, usual: number, least: number, most: number): number {
  if (value === undefined) return usual;
  const given = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (given >= least && given <= most) return given;
  throw new BadArguments(`--${name} cannot be "${value}"; give a whole number from ${least} to ${most}`);
}
