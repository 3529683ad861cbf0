import { parseArgs } from 'node:util';
import { failRun, readArguments } from '../kit/read-arguments.js';
import { type Run, simulate } from './simulate.js';

const usage = `npm run simulate -- [--seeds N] [--from S] | --seed S [--verbose]
  --seeds N    play N seeds one after the other (300)
  --from S     the first of them (1)
  --seed S     play this one
  --verbose    print every step
`;

/** Plays seeds; prints those that break a promise. Gives the exit code. */
async function main(): Promise<number> {
  const values = readArguments(() => parseArgs({ options: { seeds: { type: 'string', default: '300' }, from: { type: 'string', default: '1' }, seed: { type: 'string' }, verbose: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h' } } }).values);
  if (values.help === true) {
    process.stdout.write(usage);
    return 0;
  }
  const from = Number(values.seed ?? values.from);
  const count = values.seed === undefined ? Number(values.seeds) : 1;
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(count)) {
    process.stderr.write(usage);
    return 2;
  }
  const write = values.verbose ? (line: string): void => void process.stdout.write(`${line}\n`) : undefined;
  const begun = process.cpuUsage();
  let failed = 0;
  for (let seed = from; seed < from + count; seed++) {
    const run = await simulate(seed, write);
    if (run.violations.length > 0) failed++;
    if (run.violations.length > 0 || count === 1) process.stdout.write(describe(run));
  }
  const { user, system } = process.cpuUsage(begun);
  const tookMs = (user + system) / 1_000;
  process.stdout.write(`${count} seeds, ${failed} failed, ${(tookMs / 1_000).toFixed(1)} s of this processor, ${(tookMs / count).toFixed(0)} ms each\n`);
  return failed === 0 ? 0 : 1;
}

function describe({ seed, violations, hash, events, jobs, runs, virtualMs }: Run): string {
  const lines = violations.map(({ promise, message }) => `  promise ${promise}: ${message}\n`);
  return `seed ${seed}: ${violations.length === 0 ? 'green' : 'FAILED'}, ${jobs} jobs, ${runs} runs of schedules, ${events} steps, ${Math.round(virtualMs / 1_000)} s of virtual time, trace ${hash}\n${lines.join('')}`;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.exitCode = failRun(error, usage);
}
