import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../shared/package-root.js';

// The real command as a process; no server is there.

async function run(args: string[], input = ''): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [join(packageRoot, 'dist/services/cli/main.js'), 'schedule', 'preview', ...args], { env: { PATH: process.env['PATH'], LTS_TARGET: '127.0.0.1:1' }, timeout: 30_000 });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}

describe('lts schedule preview', () => {
  it('shows local time, UTC and what clocks do', async () => {
    const { code, out } = await run(['--cron', '0 30 2 * * ?', '--zone', 'Europe/Berlin', '--from', '2026-03-28T12:00:00Z', '--count', '2']);
    expect(code).toBe(0);
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['local time', 'UTC', 'clocks'],
      ['2026-03-29T03:00:00+02:00', '2026-03-29T01:00:00Z', 'clocks go forward 1h at this instant'],
      ['2026-03-30T02:30:00+02:00', '2026-03-30T00:30:00Z'],
      [''],
    ]);
  });

  it('gives the answer of a line as JSON too', async () => {
    expect(await run(['--cron', '0 12 * * 2', '--dialect', 'UNIX', '--from', '2026-01-01', '--count', '1', '--json'])).toEqual({ code: 0, out: '{"fires":["2026-01-06T12:00:00Z"]}\n', err: '' });
    const { code, out } = await run(['--cron', '0 0 12 * * 2', '--json']);
    expect(code).toBe(2);
    expect(JSON.parse(out)).toEqual({ error: expect.stringContaining('two ways') });
  });

  it('notes that H and @every fire at times of the task, unless it is named', async () => {
    const note = expect.stringContaining('--spread group/task');
    const first = ['--from', '2026-01-01', '--count', '1'];
    expect(await run(['--cron', 'H H * * *', ...first])).toMatchObject({ code: 0, err: note });
    expect(await run(['--cron', '@every 1h', '--json', ...first])).toMatchObject({ code: 0, err: note });
    expect(await run(['--cron', 'H H * * *', '--spread', 'demo/report', ...first])).toMatchObject({ code: 0, err: '' });
    expect(await run(['--cron', '0 3 * * *', ...first])).toMatchObject({ code: 0, err: '' });
  });

  it('shows a daily window', async () => {
    const { out } = await run(['--window', '22:00-02:00', '--every', '2h', '--weekdays', 'FRI,SAT', '--from', '2026-01-01', '--count', '4', '--json']);
    expect(JSON.parse(out)).toEqual({ fires: ['2026-01-02T22:00:00Z', '2026-01-03T00:00:00Z', '2026-01-03T02:00:00Z', '2026-01-03T22:00:00Z'] });
  });

  it.each([
    [[], 'give one of --cron, --window, --stdin'],
    [['--cron', '* * * * *', '--stdin'], 'give one of --cron, --window, --stdin'],
    [['--cron', '99 * * * *'], 'at "99": the minute is 0 to 59'],
    [['--window', '9-17', '--every', '15m'], '--window 9-17 is not a part of the day'],
    [['--window', '09:00-17:00'], '--window needs --every'],
    [['--window', '09:00-17:00', '--every', '15m', '--weekdays', 'X'], '--weekdays X are not weekdays'],
  ])('refuses %j', async (args, message) => {
    const { code, out, err } = await run(args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(message);
  });

  it('answers each line in its place, whatever is in it', async () => {
    const good = JSON.stringify({ cron: '0 0 12 ? * 2', dialect: 'quartz', zone: 'UTC', from: '2026-01-05T12:00:00Z', count: 1 });
    const lines = [good, 'no json', '', '"text"', `{"cron":"${'x'.repeat(100_000)}"}`, '{"cron":"0 0 12 30 2 ?"}', good];
    const { code, out } = await run(['--stdin'], lines.join('\n'));
    const answers = out.trimEnd().split('\n').map((line) => JSON.parse(line) as { fires?: string[]; error?: string });
    expect(code).toBe(0);
    expect(answers).toEqual([
      { fires: ['2026-01-05T12:00:00Z'] },
      { error: 'not JSON: no json' },
      { error: 'not JSON: ' },
      { error: expect.stringContaining('not a request') },
      { error: 'a line has at most 65536 characters' },
      { fires: [] },
      { fires: ['2026-01-05T12:00:00Z'] },
    ]);
  });

  it('streams many lines, also into a reader that takes its time', async () => {
    const count = 5_000;
    const line = `${JSON.stringify({ cron: '*/5 * * * *', zone: 'Europe/Berlin', from: '2026-01-01T00:00:00Z', count: 20 })}\n`;
    const { code, out } = await run(['--stdin'], line.repeat(count));
    const answers = out.trimEnd().split('\n');
    expect([code, answers.length, new Set(answers).size]).toEqual([0, count, 1]);
  });
});
