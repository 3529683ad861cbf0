import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../shared/package-root.js';
import { ServiceProcess } from '../kit/service-process.js';
import { PythonStubs } from './python-program.js';

const run = promisify(execFile);
const readme = readFileSync(join(packageRoot, 'README.md'), 'utf8');
const blocks = [...readme.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].map(([, language = '', text = '']) => ({ language, text }));
const ofLanguage = (language: string): string[] => blocks.filter((block) => block.language === language).map(({ text }) => text);
const lines = ofLanguage('sh').flatMap((text) => text.trim().split('\n'));

/** What a reader types while `npm start` runs, apart from what starts services and what needs several trackers. */
const commands = lines.filter((line) => /^npx (lts (job |schedule |cluster|node (?!drain|undrain))|buf )/.test(line));
/** Whole files, which begin with their names; other blocks are parts. */
const modules = ofLanguage('js').filter((text) => text.startsWith('// runners.mjs'));

// Within the package, so that its own name is found.
const folder = mkdtempSync(join(packageRoot, 'dist/readme-'));
let suite: ServiceProcess;
let worker: ServiceProcess;
let stubs: PythonStubs;
let gateway = '';

/** The example with the address of this test's gateway. */
const here = (text: string): string => text.replaceAll('127.0.0.1:7400', gateway);

function save(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, here(text));
  return path;
}

beforeAll(async () => {
  suite = new ServiceProcess(['standalone', '--listen', '127.0.0.1:0', '--tracker-listen', '127.0.0.1:0', '--data-dir', join(folder, 'data')]);
  gateway = await suite.address();
  const tracker = /job tracker \(workers\) +(\S+)/.exec(suite.output)?.[1] ?? '';
  const runners = save('runners.mjs', modules[0] ?? '');
  worker = new ServiceProcess(['task-tracker', '--group', 'demo', '--runners', runners, '--trackers', tracker, '--data-dir', join(folder, 'worker')]);
  await worker.says('"stream":"Work"');
  stubs = new PythonStubs();
});

afterAll(async () => {
  await worker.stop();
  await suite.stop();
  stubs.remove();
  rmSync(folder, { recursive: true, force: true });
});

describe('the examples of README.md', () => {
  it('are the ones that are looked for', () => {
    expect(commands.length).toBeGreaterThan(6);
    expect([ofLanguage('ts').length, modules.length, ofLanguage('python').length]).toEqual([1, 1, 1]);
  });

  it.each(commands)('%s', async (line) => {
    const lts = `${process.execPath} ${join(packageRoot, 'dist/services/cli/main.js')}`;
    const command = here(line).replace(/^npx lts/, lts).replace(/^npx buf/, join(packageRoot, 'node_modules/.bin/buf'));
    const { stdout } = await run('sh', ['-c', command], { env: { ...process.env, LTS_TARGET: gateway, LTS_DATA_DIR: join(folder, 'data') }, timeout: 30_000 });
    if (line.endsWith('--wait')) expect(stdout).toContain('SUCCEEDED');
    else expect(stdout).not.toBe('');
  });

  it('the client in TypeScript', async () => {
    const { stdout } = await run(process.execPath, [save('client.mjs', ofLanguage('ts')[0] ?? '')], { timeout: 30_000 });
    expect(stdout).toBe('order-1 INSTANCE_STATE_SUCCEEDED hello\n');
  });

  it('the client in Python', async () => {
    const path = save('client.py', ofLanguage('python')[0] ?? '');
    const { stdout } = await run('/usr/bin/python3', [path], { env: { ...process.env, PYTHONPATH: stubs.folder, PYTHONDONTWRITEBYTECODE: '1' }, timeout: 30_000 });
    expect(stdout).toMatch(/^[0-9a-f-]{36}\n$/);
  });
});
