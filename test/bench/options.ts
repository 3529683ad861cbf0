import { parseArgs } from 'node:util';

export const usage = `npm run bench -- --scenario throughput|latency [options]

  --scenario NAME   throughput: all jobs as fast as they go; latency: one at a time, idle in between
  --store NAME      the store behind our trackers: sqlite (default)
  --jobs N          jobs per round (default 100000; latency 500)
  --batch N         jobs per submit call (default 100; throughput only)
  --in-flight N     submit calls in flight (default 4, 64 with --batch 1; throughput only)
  --payload N       bytes of payload per job (default 100)
  --rounds N        rounds; medians are shown (default 3)
  --peers           the same work on graphile-worker and BullMQ as well, alternating round by round
  --json            the last line is one JSON object
`;

export type ScenarioName = 'throughput' | 'latency';

export interface Options {
  scenario: ScenarioName;
  store: 'sqlite';
  jobs: number;
  batch: number;
  inFlight: number;
  /** Bytes per job. */
  payload: number;
  rounds: number;
  peers: boolean;
  json: boolean;
}

/** The arguments cannot be used; the message says why and what can. */
export class BadArguments extends Error {}

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const known = {
  scenario: text,
  store: text,
  jobs: text,
  batch: text,
  'in-flight': text,
  payload: text,
  rounds: text,
  peers: flag,
  json: flag,
  help: { ...flag, short: 'h' },
} as const;

/** A call of our own carries at most 4 MiB. */
const longestBatchBytes = 4 * 1024 * 1024;

/** Reads the command line; undefined when it asks for help. Throws BadArguments. */
export function readOptions(args: string[]): Options | undefined {
  const values = parse(args);
  if (values.help === true) return undefined;
  const scenario = oneOf('scenario', values.scenario, ['throughput', 'latency'] as const);
  if (scenario === 'latency' && (values.batch ?? values['in-flight']) !== undefined) {
    throw new BadArguments('--batch and --in-flight belong to --scenario throughput: latency submits one job at a time');
  }
  const throughput = scenario === 'throughput';
  const batch = number('batch', values.batch, throughput ? 100 : 1, 1, 1_000);
  const payload = number('payload', values.payload, 100, 0, 1024 * 1024);
  if (batch * payload > longestBatchBytes) {
    throw new BadArguments(`--batch ${batch} of --payload ${payload} bytes is ${batch * payload} bytes a call; the limit is ${longestBatchBytes}`);
  }
  return {
    scenario,
    store: oneOf('store', values.store ?? 'sqlite', ['sqlite'] as const),
    jobs: number('jobs', values.jobs, throughput ? 100_000 : 500, 1, 10_000_000),
    batch,
    inFlight: number('in-flight', values['in-flight'], throughput ? (batch === 1 ? 64 : 4) : 1, 1, 1_000),
    payload,
    rounds: number('rounds', values.rounds, 3, 1, 100),
    peers: values.peers ?? false,
    json: values.json ?? false,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: known, allowPositionals: false }).values;
  } catch (error) {
    throw new BadArguments(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function oneOf<Choice extends string>(name: string, value: string | undefined, choices: readonly Choice[]): Choice {
  const chosen = choices.find((choice) => choice === value);
  if (chosen !== undefined) return chosen;
  const given = value === undefined ? `--${name} is missing` : `--${name} cannot be "${value}"`;
  throw new BadArguments(`${given}; choose ${choices.join(' or ')}`);
}

function number(name: string, value: string | undefined, usual: number, least: number, most: number): number {
  if (value === undefined) return usual;
  const given = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (given >= least && given <= most) return given;
  throw new BadArguments(`--${name} cannot be "${value}"; give a whole number from ${least} to ${most}`);
}
