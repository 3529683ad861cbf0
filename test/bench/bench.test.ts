import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the real command. */
function bench(args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./main.js', import.meta.url)), ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (code) => resolve({ code, ...output }));
  });
}

const lastLine = (text: string): unknown => JSON.parse(text.trimEnd().split('\n').at(-1) ?? '');
const positive = expect.toSatisfy((value: number) => value > 0);

test('throughput: every job runs once, and the last line carries the figures', async () => {
  const { code, stdout, stderr } = await bench(['--scenario', 'throughput', '--jobs', '2000', '--rounds', '1', '--json']);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(lastLine(stdout)).toEqual({
    scenario: 'throughput',
    store: 'sqlite',
    trackers: 1,
    groups: 1,
    jobs_per_s: positive,
    submit_to_start_ms: { p50: positive, p99: positive },
    fdatasync_ms: positive,
    lost: 0,
    duplicates: 0,
    peers: {},
  });
});

test('latency: one job at a time', async () => {
  const { code, stdout, stderr } = await bench(['--scenario', 'latency', '--jobs', '30', '--rounds', '1', '--json']);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(lastLine(stdout)).toMatchObject({ scenario: 'latency', submit_to_start_ms: { p50: positive, p99: positive }, lost: 0, duplicates: 0 });
});

test('groups: a free slot is filled again, with many groups and with one', async () => {
  const { code, stdout, stderr } = await bench(['--scenario', 'groups', '--groups', '8', '--jobs', '20000', '--json']);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const measured = { jobs_per_s: positive, slot_wait_ms: { p50: positive, p99: positive } };
  expect(lastLine(stdout)).toMatchObject({ scenario: 'groups', groups: 8, many: measured, one: measured, p99_ratio: positive });
});

test('timers: every scheduled time runs once, while schedules are edited and many fall due at once', async () => {
  const { code, stdout, stderr } = await bench(['--scenario', 'timers', '--schedules', '2000', '--minutes', '0.1', '--json']);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(lastLine(stdout)).toMatchObject({
    scenario: 'timers', schedules: 2_000, fires_per_s: 7, lateness_ms: { p50: positive, p99: positive, max: positive }, burst: 200, burst_s: positive, edits_per_s: positive, rss_mb: positive, startup_s: positive,
    lost: 0, duplicates: 0, unexpected: 0,
  });
});

test('waiting: jobs that wait, and the rate with and without them', async () => {
  const { code, stdout, stderr } = await bench(['--scenario', 'waiting', '--jobs', '5000', '--json']);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(lastLine(stdout)).toMatchObject({ scenario: 'waiting', jobs: 5_000, rss_mb: positive, startup_s: positive, submits_per_s_empty: positive, submits_per_s: positive, ratio: positive });
});

test('bad arguments end with code 2 before anything is started', async () => {
  const { code, stdout, stderr } = await bench(['--scenario', 'throughput', '--jobs', 'many']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('--jobs cannot be "many"');
});
