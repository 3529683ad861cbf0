import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { type FailStore, openFailStore } from '../../../shared/failstore/fail-store.js';
import type { SubmitResult } from '../../../shared/grpc/generated/lts/v1/SubmitResult.js';
import { newId } from '../../../shared/ids.js';
import { silentLogger } from '../../../shared/log/logger.js';
import { systemClock } from '../../../shared/time/clock.js';
import { eventually } from '../../../test/kit/eventually.js';
import { freePort } from '../../../test/kit/ports.js';
import { FakeTracker } from '../fake-tracker.js';
import type { PendingJob } from '../submit/pending-job.js';
import { Outbox } from './outbox.js';

let dir: string;
const children: ChildProcess[] = [];
const trackers: FakeTracker[] = [];
const stores: FailStore[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'outbox-'));
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const tracker of trackers.splice(0)) tracker.stop();
  for (const store of stores.splice(0)) store.close();
  rmSync(dir, { recursive: true, force: true });
});

/** A process of its own with a JobClient that submits `count` jobs one after the other and prints the id of each answer. */
function startClient(address: string, count: number): { acked: string[]; child: ChildProcess } {
  const script = `
    import { JobClient } from ${JSON.stringify(new URL('../index.js', import.meta.url).href)};
    const client = new JobClient({ trackers: [${JSON.stringify(address)}], dataDir: ${JSON.stringify(dir)}, nodeId: 'n', submitTimeout: 100 });
    for (let i = 0; i < ${count}; i++) {
      const { instance_id: id, outcome } = await client.submit({ task_id: 't' + process.pid + '.' + i, node_group: 'g', payload: 'x'.repeat(2000) });
      process.stdout.write(outcome.slice(15) + ' ' + id + '\\n');
    }
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const acked: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => acked.push(line));
  return { acked, child };
}

function kill(child: ChildProcess): Promise<void> {
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGKILL');
  return gone;
}

/** Answers of one job after the other, in the order they come. */
function collector(): { results: SubmitResult[]; job: (task: string) => PendingJob } {
  const results: SubmitResult[] = [];
  const sink = { settle: (_index: number, result: SubmitResult): void => void results.push(result) };
  return { results, job: (taskId) => ({ bytes: Buffer.from('job'), nodeGroup: 'g', taskId, instanceId: newId(), sink, index: 0, late: false }) };
}

describe('what was answered STORED_LOCALLY', () => {
  it('is sent, whenever its process and the one that sends it are killed', async () => {
    const port = await freePort();
    const address = `127.0.0.1:${port}`;
    const first = startClient(address, 1_000_000);
    await eventually(() => first.acked.length > 300);
    await kill(first.child);
    const stored = first.acked.filter((line) => line.startsWith('STORED_LOCALLY ')).map((line) => line.split(' ')[1]);
    expect(stored.length).toBe(first.acked.length);
    const tracker = new FakeTracker();
    trackers.push(tracker);
    // Each batch is answered, but some of the senders die before they can note it.
    const delivered: string[] = [];
    tracker.onJob = ({ instance_id }) => void delivered.push(instance_id);
    await tracker.start(port);
    tracker.showOwner(1, address);
    const second = startClient(address, 0);
    await eventually(() => tracker.calls.length > 0);
    await kill(second.child);
    const third = startClient(address, 1);
    await eventually(() => third.acked.length === 1);
    await eventually(() => stored.every((id) => delivered.includes(id ?? '')));
    await kill(third.child);
    const store = openFailStore({ dir: join(dir, 'failstore', 'job-client'), nodeId: 'n', incarnation: newId(), maxBytes: 1e9, log: silentLogger });
    stores.push(store);
    expect(store.counts.dead).toBe(0);
  });
});

describe('Outbox', () => {
  function open(store: Partial<FailStore> = {}): { outbox: Outbox; real: FailStore } {
    const real = openFailStore({ dir, nodeId: 'n', incarnation: newId(), maxBytes: 2_000, log: silentLogger });
    stores.push(real);
    const faked = new Proxy(real, { get: (target, name) => (Reflect.get(store, name) as unknown) ?? bound(target, name) });
    return { outbox: new Outbox(faked, silentLogger, systemClock, () => undefined), real };
  }

  function bound(target: FailStore, name: string | symbol): unknown {
    const value: unknown = Reflect.get(target, name, target);
    return typeof value === 'function' ? (value.bind(target) as unknown) : value;
  }

  it('stores what fits and refuses the rest, one by one', () => {
    const { outbox, real } = open();
    const { results, job } = collector();
    for (const task of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']) outbox.add(job(task));
    outbox.flush();
    expect(results.map(({ outcome, reason }) => reason ?? outcome)).toEqual([...Array.from({ length: 6 }, () => 'SUBMIT_OUTCOME_STORED_LOCALLY'), 'FAIL_STORE_FULL', 'FAIL_STORE_FULL', 'FAIL_STORE_FULL']);
    expect(real.counts.entries).toBe(6);
  });

  it('holds a key from the first moment, also before it is on the disk', () => {
    const { outbox } = open();
    const { job } = collector();
    expect(outbox.holds('g', 'a')).toBe(false);
    outbox.add(job('a'));
    expect(outbox.holds('g', 'a')).toBe(true);
    expect(outbox.holds('g', 'b')).toBe(false);
    expect(outbox.addCancel({ task_id: 'b', node_group: 'g' })).toBeUndefined();
    outbox.flush();
    expect(outbox.holds('g', 'a')).toBe(true);
  });

  it('holds a group after one of its jobs was not taken, until the group answers', () => {
    const { outbox } = open();
    const { job } = collector();
    outbox.addUnsent([job('a')]);
    expect([outbox.holds('g', 'other'), outbox.holds('h', 'other')]).toEqual([true, false]);
    outbox.release('g');
    expect([outbox.holds('g', 'a'), outbox.holds('g', 'other')]).toEqual([true, false]);
  });

  it('answers with an error when the store fails, and never with its text', () => {
    const { outbox } = open({
      put: () => {
        throw new Error('secret path');
      },
    });
    const { results, job } = collector();
    outbox.add(job('a'));
    outbox.flush();
    expect(results).toMatchObject([{ outcome: 'SUBMIT_OUTCOME_REJECTED', reason: 'STORE_FAILED' }]);
    expect(results[0]?.message).not.toContain('secret');
  });

  it('rejects a cancel that could not be stored', async () => {
    const { outbox } = open({
      hasKey: () => true,
      put: () => {
        throw new LtsError('FAIL_STORE_FULL', 'full');
      },
    });
    const stored = outbox.addCancel({ task_id: 'a', node_group: 'g' });
    outbox.flush();
    await expect(stored).rejects.toMatchObject({ reason: 'FAIL_STORE_FULL' });
  });
});
