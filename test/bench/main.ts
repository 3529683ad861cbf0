// The benchmark: `npm run bench -- --scenario NAME`. Our own services as users start them and, with --peers, other job
// systems on their own real servers; every process and every store is started here.
import { failRun } from '../kit/read-arguments.js';
import { type Options, readOptions, type ScenarioName, usage } from './options.js';
import type { Report } from './report.js';
import { compare } from './scenarios/compare.js';
import { failover } from './scenarios/failover.js';
import { groups } from './scenarios/groups.js';
import { latency } from './scenarios/latency.js';
import { throughput } from './scenarios/throughput.js';
import { timers } from './scenarios/timers.js';
import { waiting } from './scenarios/waiting.js';

const scenarios: Record<ScenarioName, (options: Options) => Promise<Report>> = {
  throughput: (options) => compare(throughput, options),
  latency: (options) => compare(latency, options),
  groups,
  failover,
  timers,
  waiting,
};

/** The exit code: 0 measured, 1 failed or jobs lost or repeated, 2 bad arguments. */
async function main(args: string[]): Promise<number> {
  const options = readOptions(args);
  if (options === undefined) {
    process.stdout.write(usage);
    return 0;
  }
  const { text, json, fault } = await scenarios[options.scenario](options);
  process.stdout.write(`${text}\n`);
  if (options.json) process.stdout.write(`${JSON.stringify(json)}\n`);
  if (fault === undefined) return 0;
  process.stderr.write(`${fault}\n`);
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
  process.exitCode = failRun(error, usage);
}
