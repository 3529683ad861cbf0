import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { failRun, readArguments } from '../kit/read-arguments.js';
import { ChaosRun } from './run.js';

// `npm run chaos`: a real cluster under load while a fault comes every few seconds; then the promises are checked.

const usage = `npm run chaos -- --minutes N [options]

  --minutes N     how long faults come (default 30; parts of a minute as 0.5)
  --seed S        the plan of the faults follows from it (default: a new one)
  --store NAME    postgres (default), or sqlite: one owner at a time
  --rate N        jobs a second of all clients (default 200)
  --keep          keep the folder with histories, logs and faults when nothing was broken, too
`;
const text = { type: 'string' } as const;

/** The exit code: 0 nothing broken, 1 a promise was broken or the run failed, 2 bad arguments. */
async function main(): Promise<number> {
  const values = readArguments(() => parseArgs({ options: { minutes: text, seed: text, store: text, rate: text, keep: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } }).values);
  const minutes = Number(values.minutes ?? 30);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
  const rate = Number(values.rate ?? 200);
  const store = values.store ?? 'postgres';
  const wrong = !(minutes > 0) || !Number.isInteger(seed) || !(rate > 0) || (store !== 'sqlite' && store !== 'postgres');
  if (wrong || values.help === true) {
    process[wrong ? 'stderr' : 'stdout'].write(usage);
    return wrong ? 2 : 0;
  }
  const folder = mkdtempSync(join(tmpdir(), 'lts-chaos-'));
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  say(`--seed ${seed}, ${minutes} min, files in ${folder}`);
  const { violations, text: report } = await ChaosRun.run({ minutes, seed, store, rate, folder, say });
  say(report);
  if (violations.length === 0 && values.keep !== true) rmSync(folder, { recursive: true });
  return violations.length === 0 ? 0 : 1;
}

// Leaving by a signal still runs the exit handlers, which end every process.
for (const [signal, code] of [['SIGINT', 130], ['SIGTERM', 143]] as const) process.once(signal, () => process.exit(code));

// A connection that was reset while it was being shut down is never closed, and a process that ends by itself waits for it.
process.exit(await main().catch((error: unknown) => failRun(error, usage)));
