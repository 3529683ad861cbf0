import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Table from 'cli-table3';
import { packageRoot } from '../../shared/package-root.js';
import { type Mutant, mutants } from './mutants.js';

// `npm run mutations [-- WORD]`: removes one guard at a time from a copy of the compiled output and shows that its test
// turns red. With a word: only the guards whose name has it.

type Verdict = 'caught' | 'SURVIVED' | 'DOES NOT APPLY' | 'TEST IS RED WITHOUT IT';

const withinMs = 240_000;

/** A copy of everything that the tests run on. */
function copy(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lts-mutations-'));
  for (const part of ['dist', 'services', 'shared', 'test', 'proto', 'deploy', 'package.json']) cpSync(join(packageRoot, part), join(folder, part), { recursive: true });
  symlinkSync(join(packageRoot, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Whether the proof is green in that copy. A test that runs out of time is red. */
function green(folder: string, { proof }: Mutant): boolean {
  const { project, test, name } = proof;
  const args = [join(packageRoot, 'node_modules/vitest/vitest.mjs'), 'run', '--config', join(folder, 'test/vitest.config.mjs'), '--project', project, test, '-t', name];
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', timeout: withinMs });
  // A name that fits no test would be green for ever.
  return status === 0 && /Tests .*[1-9]\d* passed/.test(stdout);
}

function judge(folder: string, mutant: Mutant, isGreenWithout: boolean): Verdict {
  const file = join(folder, mutant.file);
  const whole = readFileSync(file, 'utf8');
  if (whole.split(mutant.from).length !== 2) return 'DOES NOT APPLY';
  if (!isGreenWithout) return 'TEST IS RED WITHOUT IT';
  try {
    writeFileSync(file, whole.replace(mutant.from, () => mutant.to));
    return green(folder, mutant) ? 'SURVIVED' : 'caught';
  } finally {
    writeFileSync(file, whole);
  }
}

const usage = `npm run mutations [-- WORD]

  WORD   only the guards whose name has it; without: all
`;

/** The exit code: 0 all caught, 1 not all, 2 bad arguments. */
function main(args: readonly string[]): number {
  const [word = '', ...more] = args;
  if (word === '--help' || word === '-h') {
    process.stdout.write(usage);
    return 0;
  }
  const chosen = mutants.filter(({ guard }) => guard.includes(word));
  if (more.length === 0 && chosen.length > 0) return play(chosen);
  const names = mutants.map(({ guard }) => `  ${guard}\n`).join('');
  process.stderr.write(`${more.length > 0 ? 'more than one word is given' : `no guard has "${word}" in its name`}\n\n${usage}\nThe guards:\n${names}`);
  return 2;
}

function play(chosen: readonly Mutant[]): number {
  const folder = copy();
  const table = new Table({ head: ['guard', 'without it', 'by'], style: { head: [], border: [] } });
  let bad = 0;
  try {
    const untouched = new Map<string, boolean>();
    for (const mutant of chosen) {
      const key = JSON.stringify(mutant.proof);
      if (!untouched.has(key)) untouched.set(key, green(folder, mutant));
      const verdict = judge(folder, mutant, untouched.get(key) ?? false);
      if (verdict !== 'caught') bad++;
      process.stderr.write(`${verdict}: ${mutant.guard}\n`);
      table.push([mutant.guard, verdict, mutant.proof.name]);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  process.stdout.write(`${table.toString()}\n`);
  return bad === 0 ? 0 : 1;
}

process.exitCode = main(process.argv.slice(2));
