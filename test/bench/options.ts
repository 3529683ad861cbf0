import { parseArgs } from 'node:util';
import { BadArguments, readArguments } from '../kit/read-arguments.js';

export const usage = `npm run bench -- --scenario throughput|latency|groups|failover [options]

  --scenario NAME   throughput: all jobs as fast as they go; latency: one at a time, idle in between;
                    groups: how long a free slot waits, with many groups and with one;
                    failover: an owner is killed and another drained under load, on --store postgres
  --store NAME      the store behind our trackers: sqlite (default) or postgres
  --trackers N      trackers that share the groups, with a ZooKeeper (default 1; more need --store postgres)
  --groups N        node groups among which the jobs are spread (default 1; groups 200)
  --jobs N          jobs per round (default 100000; latency 500; groups: per group, 10000)
  --batch N         jobs per submit call (default 100; throughput only)
  --in-flight N     submit calls in flight (default 4, 64 with --batch 1; throughput only)
  --payload N       bytes of payload per job (default 100)
  --rounds N        rounds; medians are shown (default 3; groups and failover 1)
  --peers           the same work on graphile-worker and BullMQ as well, alternating round by round
  --json            the last line is one JSON object
`;

export const scenarioNames = ['throughput', 'latency', 'groups', 'failover'] as const;
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
  peers: flag,
  json: flag,
  help: { ...flag, short: 'h' },
} as const;

const usualJobs = { throughput: 100_000, latency: 500, groups: 10_000, failover: 5_000 } as const;
const usualGroups = { throughput: 1, latency: 1, groups: 200, failover: 16 } as const;

/** A call of our own carries at most 4 MiB. */
const longestBatchBytes = 4 * 1024 * 1024;

/** Reads the command line; undefined when it asks for help. Throws BadArguments. */
export function readOptions(args: string[]): Options | undefined {
  const values = readArguments(() => parseArgs({ args, options: known, allowPositionals: false }).values);
  if (values.help === true) return undefined;
  const scenario = oneOf('scenario', values.scenario, scenarioNames);
  const throughput = scenario === 'throughput';
  const foreign = throughput ? undefined : (['batch', 'in-flight'] as const).find((name) => values[name] !== undefined);
  if (foreign !== undefined) throw new BadArguments(`--${foreign} belongs to --scenario throughput, not to ${scenario}`);
  const compared = throughput || scenario === 'latency';
  if (values.peers === true && !compared) throw new BadArguments(`--peers belongs to --scenario throughput or latency, not to ${scenario}`);
  const batch = number('batch', values.batch, scenario === 'latency' ? 1 : 100, 1, 1_000);
  const payload = number('payload', values.payload, 100, 0, 1024 * 1024);
  if (batch * payload > longestBatchBytes) {
    throw new BadArguments(`--batch ${batch} of --payload ${payload} bytes is ${batch * payload} bytes a call; the limit is ${longestBatchBytes}`);
  }
  const store = oneOf('store', values.store ?? (scenario === 'failover' ? 'postgres' : 'sqlite'), storeNames);
  const trackers = number('trackers', values.trackers, scenario === 'failover' ? 3 : 1, 1, 3);
  if (store === 'sqlite' && trackers > 1) throw new BadArguments(`--trackers ${trackers} needs --store postgres: one SQLite file has one owner`);
  if (scenario === 'groups' && trackers > 1) throw new BadArguments('--scenario groups measures one tracker');
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
    rounds: number('rounds', values.rounds, compared ? 3 : 1, 1, 100),
    peers: values.peers ?? false,
    json: values.json ?? false,
  };
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
