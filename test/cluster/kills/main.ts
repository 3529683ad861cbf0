import { parseArgs } from 'node:util';
import { BadArguments, failRun, readArguments } from '../../kit/read-arguments.js';
import { killTrackers } from './kill-trackers.js';

const usage = `npm run kills -- [--kills N] [--store sqlite|postgres] [--jobs N] [--seed S]
  --kills N      how often a tracker is killed while schedules fire every second (300)
  --store NAME   sqlite: one tracker; postgres: three (both, half of the kills each)
  --jobs N       schedules that fire every second (500)
  --seed S       which tracker is killed when (1)
`;

const everyMs = 800;

/** Kills and compares; gives the exit code. */
async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const values = readArguments(() => parseArgs({ options: { kills: { ...text, default: '300' }, store: text, jobs: { ...text, default: '500' }, seed: { ...text, default: '1' }, help: { type: 'boolean', short: 'h' } } }).values);
  if (values.help === true) {
    process.stdout.write(usage);
    return 0;
  }
  const [kills, jobs, seed] = [whole('kills', values.kills), whole('jobs', values.jobs), whole('seed', values.seed)];
  const stores = (['sqlite', 'postgres'] as const).filter((name) => values.store === undefined || values.store === name);
  if (stores.length === 0) throw new BadArguments(`--store cannot be "${values.store}"; choose sqlite or postgres`);
  let wrong = 0;
  for (const store of stores) {
    const killed = await killTrackers({ store, trackers: store === 'sqlite' ? 1 : 3, kills: Math.ceil(kills / stores.length), jobs, everyMs, seed, say: (line) => void process.stderr.write(`${store} ${line}\n`) });
    process.stdout.write(`${store}: ${killed.rows} scheduled times, ${killed.runs} runs, ${killed.passed} that did not run, ${killed.wrong.length} wrong\n`);
    for (const each of killed.wrong.slice(0, 20)) process.stdout.write(`  ${each}\n`);
    wrong += killed.wrong.length;
  }
  return wrong === 0 ? 0 : 1;
}

function whole(name: string, value: string): number {
  if (/^[1-9]\d{0,6}$/.test(value)) return Number(value);
  throw new BadArguments(`--${name} cannot be "${value}"; give a whole number from 1`);
}

try {
  process.exitCode = await main();
} catch (error) {
  process.exitCode = failRun(error, usage);
}
