// The benchmark: `npm run bench -- --scenario throughput|latency`. The same work through our own services and, with
// --peers, through other job systems on their own real servers; every process and every store is started here.
import type { Contender } from './contender.js';
import { bullmq } from './contenders/bullmq.js';
import { defaultGraphile, tunedGraphile } from './contenders/graphile.js';
import { lts } from './contenders/lts.js';
import { measureFdatasync, storeParent } from './frame/disk.js';
import { BadArguments, type Options, readOptions, usage } from './options.js';
import { asJson, asTable, type Outcome } from './report.js';
import { latency } from './scenarios/latency.js';
import { decimals, whole } from './scenarios/numbers.js';
import { alternate } from './scenarios/rounds.js';
import { throughput } from './scenarios/throughput.js';

const scenarios = { throughput, latency };

async function bench(options: Options): Promise<Outcome> {
  const parent = storeParent();
  const fdatasyncMs = measureFdatasync(parent);
  const rivals: Contender[] = options.peers ? [tunedGraphile(parent), defaultGraphile(parent), bullmq(parent)] : [];
  const work = scenarios[options.scenario].work(options);
  const [ours, ...peers] = await alternate([lts(parent, options.store), ...rivals], work, options.rounds, (round, name, result) => {
    const { p50, p99 } = result.submitToStartMs;
    process.stderr.write(
      `round ${round} of ${options.rounds}  ${name}: ${whole(result.jobsPerSecond)} jobs/s, submit to start p50 ${decimals(p50)} ms, p99 ${decimals(p99)} ms\n`,
    );
  });
  if (ours === undefined) throw new Error('no contender ran');
  return { scenario: options.scenario, fdatasyncMs, ours, peers };
}

function describe({ scenario, jobs, batch, inFlight, payload, rounds }: Options, fdatasyncMs: number): string {
  const how = scenario === 'latency' ? 'one at a time' : `${whole(batch)} a call, ${whole(inFlight)} calls in flight`;
  return `${scenario}: ${whole(jobs)} jobs, ${how}, ${whole(payload)} bytes of payload; medians of ${rounds} rounds; fdatasync ${decimals(fdatasyncMs)} ms`;
}

/** The exit code: 0 measured, 1 failed or jobs lost or repeated, 2 bad arguments. */
async function main(args: string[]): Promise<number> {
  const options = readOptions(args);
  if (options === undefined) {
    process.stdout.write(usage);
    return 0;
  }
  const outcome = await bench(options);
  process.stdout.write(`${describe(options, outcome.fdatasyncMs)}\n${asTable(scenarios[options.scenario], outcome)}\n`);
  if (options.json) process.stdout.write(`${asJson(outcome)}\n`);
  if (outcome.ours.lost + outcome.ours.duplicates === 0) return 0;
  process.stderr.write(`${outcome.ours.lost} jobs lost and ${outcome.ours.duplicates} repeated without any fault\n`);
  return 1;
}

// Leaving by a signal still runs the exit handlers, which end every server and delete its folder.
for (const [signal, code] of [['SIGINT', 130], ['SIGTERM', 143]] as const) {
  process.once(signal, () => {
    process.stderr.write(`interrupted by ${signal}; nothing was measured to the end\n`);
    process.exit(code);
  });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof BadArguments) process.stderr.write(`${error.message}\n\n${usage}`);
  else process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = error instanceof BadArguments ? 2 : 1;
}
