import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../shared/package-root.js';

const folder = mkdtempSync(join(tmpdir(), 'lts-serve-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Service {
  child: ChildProcess;
  out: () => string;
  err: () => string;
  /** Resolves with the first line on standard output. */
  ready: Promise<string>;
  ended: Promise<number | null>;
}

function start(args: string[], env: Record<string, string> = {}): Service {
  const child = spawn(process.execPath, [join(packageRoot, 'dist/services/cli/main.js'), ...args], { cwd: folder, env: { PATH: process.env['PATH'], ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const ready = new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      if (out.includes('\n')) resolve(out.slice(0, out.indexOf('\n')));
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    child.once('exit', () => reject(new Error(`it ended: ${err}`)));
  });
  // Not every test waits for the first line.
  ready.catch(() => undefined);
  return { child, out: () => out, err: () => err, ready, ended };
}

describe('lts <service>', () => {
  it('says where it serves, logs JSON on standard error, and leaves with 0 on SIGTERM', async () => {
    const service = start(['job-tracker', '--listen', '127.0.0.1:0', '--data-dir', join(folder, 'a')]);
    expect(await service.ready).toMatch(/^job-tracker serves on 127\.0\.0\.1:\d+$/);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    const lines = service.err().trim().split('\n').map((line) => JSON.parse(line) as { event: string; tzdata?: string });
    expect(lines.find(({ event }) => event === 'process.started')).toMatchObject({ tzdata: process.versions.tz });
    expect(lines.map(({ event }) => event)).toEqual(expect.arrayContaining(['process.started', 'process.draining', 'process.stopped']));
  });

  it('ends with 78 and every problem when settings are wrong', async () => {
    writeFileSync(join(folder, 'lts.yaml'), 'graze: 1s\n');
    const service = start(['job-tracker', '--config', 'lts.yaml', '--listen', '0.0.0.0:0', '--partitions', '0'], { LTS_RETENTION: '1' });
    expect(await service.ended).toBe(78);
    expect(service.out()).toBe('');
    for (const problem of ['did you mean grace?', 'partitions: "0"', 'retention: "1" (env LTS_RETENTION)', '--insecure']) expect(service.err()).toContain(problem);
  });

  it('ends with 2 on an unknown flag and names the near one', async () => {
    const service = start(['job-tracker', '--lisen', '127.0.0.1:0']);
    expect(await service.ended).toBe(2);
    expect(service.err()).toContain('Did you mean --listen?');
  });

  it.each([
    ['job-tracker', (taken: string) => ['--listen', taken]],
    ['job-client', (taken: string) => ['--listen', taken]],
    ['standalone', (taken: string) => ['--listen', '127.0.0.1:0', '--tracker-listen', taken]],
    ['standalone', (taken: string) => ['--listen', taken, '--tracker-listen', '127.0.0.1:0']],
  ])('ends with 78 when the port of %s is taken, and holds nothing any more', async (name, listen) => {
    const first = start(['job-client', '--listen', '127.0.0.1:0', '--data-dir', join(folder, 'taken')]);
    const taken = (await first.ready).split(' ').at(-1) ?? '';
    const data = ['--data-dir', join(folder, `free-${name}`)];
    const second = start([name, ...listen(taken), ...data]);
    expect(await second.ended).toBe(78);
    expect(second.err()).toContain(`cannot listen on ${taken}: another process listens there`);
    first.child.kill('SIGTERM');
    expect(await first.ended).toBe(0);
  });

  it('ends with 78 when the data folder is a file', async () => {
    writeFileSync(join(folder, 'file'), '');
    const service = start(['job-tracker', '--listen', '127.0.0.1:0', '--data-dir', join(folder, 'file')]);
    expect(await service.ended).toBe(78);
    expect(service.err()).toContain('data-dir: cannot make the folder');
  });

  it('ends with 70 and the holder when another process has its data', async () => {
    const first = start(['job-tracker', '--listen', '127.0.0.1:0', '--data-dir', join(folder, 'b')]);
    await first.ready;
    const second = start(['job-tracker', '--listen', '127.0.0.1:0', '--data-dir', join(folder, 'b')]);
    expect(await second.ended).toBe(70);
    expect(second.err()).toContain(`STORE_LOCKED: process ${first.child.pid} holds`);
    first.child.kill('SIGINT');
    expect(await first.ended).toBe(0);
  });

  it('accepts the variables of other services and shows what is in force', async () => {
    const service = start(['config', 'job-tracker', '-o', 'json'], { LTS_WORK_THREADS: '3', LTS_GRACE: '20s', LTS_TARGET: '127.0.0.1:1' });
    expect(await service.ended).toBe(0);
    expect(JSON.parse(service.out())).toMatchObject({ 'job-tracker': expect.arrayContaining([{ key: 'grace', value: '20s', source: 'env LTS_GRACE' }]) });
  });
});
