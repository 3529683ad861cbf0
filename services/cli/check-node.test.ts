import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../../shared/package-root.js';
import { eventually } from '../../test/kit/eventually.js';
import { freePort } from '../../test/kit/ports.js';
import { ServiceProcess } from '../../test/kit/service-process.js';

// The command and the services are real processes, really paused and killed.

const root = mkdtempSync(join(tmpdir(), 'lts-check-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const runners = join(root, 'runners.mjs');
writeFileSync(
  runners,
  `import { existsSync } from 'node:fs';
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  // Until the file is there.
  export const runners = {
    block: ({ job }) => { while (!existsSync(job.text())) Atomics.wait(nothing, 0, 0, 20); },
    wait: async ({ job }) => { while (!existsSync(job.text())) await new Promise((resolve) => setTimeout(resolve, 20)); },
  };`,
);

interface Checked {
  code: number;
  text: string;
  tookMs: number;
}

function lts(args: readonly string[], env: Record<string, string> = {}): Promise<Checked> {
  const began = performance.now();
  return new Promise((resolve) => {
    execFile(process.execPath, [join(packageRoot, 'dist/services/cli/main.js'), ...args], { cwd: root, env: { PATH: process.env['PATH'], ...env }, timeout: 20_000 }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), text: out + err, tookMs: performance.now() - began }),
    );
  });
}

const started: ServiceProcess[] = [];
afterEach(async () => {
  for (const service of started.splice(0)) {
    service.kill();
    await service.exited();
  }
});

function start(args: readonly string[]): ServiceProcess {
  const service = new ServiceProcess(args);
  started.push(service);
  return service;
}

let count = 0;
const folder = (): string => join(root, `${count++}`);

async function startWorker(dataDir: string, tracker: string): Promise<ServiceProcess> {
  const worker = start(['task-tracker', '--group', 'g', '--runners', runners, '--trackers', tracker, '--data-dir', dataDir, '--grace', '5s']);
  await worker.says('works as');
  return worker;
}

const check = (dataDir: string, ...more: string[]): Promise<Checked> => lts(['node', 'check', '--self', '--data-dir', dataDir, ...more]);
const becomes = (code: number, dataDir: string, ...more: string[]): Promise<Checked> =>
  eventually(async () => {
    const checked = await check(dataDir, ...more);
    return checked.code === code ? checked : undefined;
  }, { withinMs: 15_000, what: `exit code ${code} of a check` });

describe('lts node check', () => {
  it('finds a worker without a tracker alive and not ready, and ready once an owner has it', async () => {
    const dataDir = folder();
    const tracker = `127.0.0.1:${await freePort()}`;
    await startWorker(dataDir, tracker);
    await becomes(0, dataDir);
    expect(await check(dataDir, '--ready')).toMatchObject({ code: 1, text: expect.stringContaining('no owner of group g is connected') });
    const service = start(['job-tracker', '--listen', tracker, '--data-dir', folder()]);
    await service.address();
    const ready = await becomes(0, dataDir, '--ready');
    expect(ready.text).toContain('task-tracker');
  });

  it('finds a paused worker dead within its time, and alive when it goes on', async () => {
    const dataDir = folder();
    const worker = await startWorker(dataDir, '127.0.0.1:1');
    await becomes(0, dataDir);
    worker.pause();
    const paused = await check(dataDir);
    expect(paused).toMatchObject({ code: 1, text: expect.stringContaining('does not answer within 2000 ms') });
    expect(paused.tookMs).toBeLessThan(8_000);
    expect((await check(dataDir, '--timeout', '200ms')).text).toContain('within 200 ms');
    worker.resume();
    await becomes(0, dataDir);
  });

  it('finds a killed worker dead, and only its successor once that runs', async () => {
    const dataDir = folder();
    const first = await startWorker(dataDir, '127.0.0.1:1');
    await becomes(0, dataDir);
    first.kill();
    await first.exited();
    expect(await check(dataDir)).toMatchObject({ code: 1, text: expect.stringContaining(`${first.pid}`) });
    const second = await startWorker(dataDir, '127.0.0.1:1');
    const { text } = await becomes(0, dataDir);
    expect(text).toContain(`${second.pid}`);
    expect(readdirSync(join(dataDir, 'self'))).toEqual([expect.stringContaining(`.${second.pid}.`)]);
  });

  it('finds a worker whose runner blocks alive and not ready, and one that leaves as well', async () => {
    const dataDir = folder();
    const tracker = start(['job-tracker', '--listen', '127.0.0.1:0', '--data-dir', folder()]);
    const target = await tracker.address();
    const worker = await startWorker(dataDir, target);
    await becomes(0, dataDir, '--ready');
    const submit = async (id: string, type: string): Promise<{ end: () => void }> => {
      const ends = join(root, `${id}-ends`);
      expect((await lts(['job', 'submit', '--task-id', id, '--group', 'g', '--type', type, '--payload', ends, '--target', target])).code).toBe(0);
      return { end: () => writeFileSync(ends, '') };
    };
    const block = await submit('b', 'block');
    const blocked = await becomes(1, dataDir, '--ready');
    expect(blocked.text).toContain('a runner has blocked the thread');
    expect((await check(dataDir)).code).toBe(0);
    block.end();
    await becomes(0, dataDir, '--ready');
    const wait = await submit('w', 'wait');
    await eventually(async () => (await lts(['job', 'get', '--task-id', 'w', '--group', 'g', '--target', target])).text.includes('EXECUTING'));
    const left = worker.stop();
    const leaving = await becomes(1, dataDir, '--ready');
    expect(leaving.text).toContain('it is leaving');
    expect((await check(dataDir)).code).toBe(0);
    wait.end();
    expect(await left).toBe(0);
    expect(await check(dataDir)).toMatchObject({ code: 1, text: expect.stringContaining('no service of this host') });
  }, 60_000);

  it('asks the ports of trackers and gateways, which it knows from them', async () => {
    const dataDir = folder();
    const target = await start(['job-tracker', '--listen', '127.0.0.1:0', '--data-dir', dataDir]).address();
    const gateway = start(['job-client', '--listen', '0.0.0.0:0', '--insecure', '--trackers', target, '--data-dir', dataDir]);
    await gateway.address();
    const { text } = await eventually(async () => {
      const checked = await check(dataDir, '--ready');
      return checked.code === 0 && checked.text.includes('job-client') && checked.text.includes('job-tracker') ? checked : undefined;
    });
    expect(text).toContain(target);
    gateway.pause();
    expect((await check(dataDir)).code).toBe(1);
    expect(await lts(['node', 'check', '--ready', '--target', target])).toMatchObject({ code: 0 });
  });

  it('says of a stand-by that it lives and takes no work', async () => {
    // Without its ZooKeeper it is assigned nothing.
    const target = `127.0.0.1:${await freePort()}`;
    const tracker = start(['job-tracker', '--listen', target, '--zookeeper', '127.0.0.1:1', '--data-dir', folder()]);
    await tracker.address();
    expect(await lts(['node', 'check', '--target', target])).toMatchObject({ code: 0 });
    expect(await lts(['node', 'check', '--target', target, '--ready'])).toMatchObject({ code: 1, text: expect.stringContaining('NOT_SERVING') });
  });

  it('fails on a port where nothing listens, and on a folder without services', async () => {
    expect(await lts(['node', 'check', '--target', `127.0.0.1:${await freePort()}`])).toMatchObject({ code: 1, text: expect.stringContaining('its port does not answer') });
    expect(await check(folder())).toMatchObject({ code: 1, text: expect.stringContaining('LTS_DATA_DIR') });
  });

  it('reads the data folder as the services do, whatever else their settings say', async () => {
    const dataDir = folder();
    await startWorker(dataDir, '127.0.0.1:1');
    await becomes(0, dataDir);
    const file = join(root, 'worker.yaml');
    writeFileSync(file, `dataDir: ${dataDir}\ngroup: g\nrunners: ${runners}\nlogLevel: warn\n`);
    const ok = { code: 0, text: expect.stringContaining('task-tracker') };
    expect(await lts(['node', 'check', '--self', '--config', file])).toMatchObject(ok);
    expect(await lts(['node', 'check', '--self'], { LTS_CONFIG: file })).toMatchObject(ok);
    expect(await lts(['node', 'check', '--self'], { LTS_DATA_DIR: dataDir, LTS_LOG_LEVEL: 'warn', LTS_GROUP: 'g', LTS_LISTEN: '0.0.0.0:7401' })).toMatchObject(ok);
    expect(await lts(['node', 'check', '--self'], { LTS_DATADIR: dataDir })).toMatchObject({ code: 2, text: expect.stringContaining('LTS_DATADIR: unknown variable') });
  });

  it('lets a worker run whose folder is too long for a socket, and says so', async () => {
    const dataDir = join(root, 'long'.repeat(30));
    mkdirSync(dataDir);
    const worker = await startWorker(dataDir, '127.0.0.1:1');
    await worker.says('self.failed');
    expect(await check(dataDir)).toMatchObject({ code: 2, text: expect.stringContaining('choose a shorter --data-dir') });
  });
});
