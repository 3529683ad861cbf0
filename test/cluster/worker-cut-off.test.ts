import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RunAborted, TaskTracker } from '../../services/task-tracker/index.js';
import { Caller } from '../interop/caller.js';
import { WorkStream } from '../interop/malformed/work-stream.js';
import { eventually } from '../kit/eventually.js';
import { freePort } from '../kit/ports.js';
import { ServiceProcess } from '../kit/service-process.js';
import { TcpProxy } from '../kit/tcp-proxy.js';
import { Admin } from './admin.js';

const graceMs = 2_000;

describe('a worker is cut off from its tracker while a job runs, and another worker is not', () => {
  let folder: string;
  let proxy: TcpProxy;
  let tracker: ServiceProcess;
  let worker: TaskTracker;
  let admin: Admin;
  let caller: Caller;
  /** What the run behind the cut was told, in order. */
  const told: string[] = [];

  beforeEach(async () => {
    told.length = 0;
    folder = mkdtempSync(join(tmpdir(), 'lts-cut-off-'));
    const port = await freePort();
    proxy = await TcpProxy.start(port);
    // The map leads through the proxy; the other worker calls the port itself.
    tracker = new ServiceProcess(['job-tracker', '--listen', `127.0.0.1:${port}`, '--advertise', proxy.connect, '--data-dir', join(folder, 'store'), '--ping-interval', '200ms', '--grace', `${graceMs}ms`]);
    await tracker.address();
    admin = new Admin(`127.0.0.1:${port}`);
    caller = new Caller(`127.0.0.1:${port}`);
    await eventually(async () => (await admin.cluster()).owned.length > 0);
    worker = new TaskTracker({
      trackers: [proxy.connect],
      nodeGroup: 'g',
      nodeId: 'cut-off',
      dataDir: join(folder, 'worker'),
      runners: ({ signal }) =>
        new Promise((resolve) => {
          told.push('begun');
          signal.addEventListener('abort', () => {
            told.push(signal.reason instanceof RunAborted ? signal.reason.why : String(signal.reason));
            resolve('done in spite of it');
          });
        }),
    });
    await worker.start();
    await worker.connected;
  });

  afterEach(async () => {
    await worker.drain(0);
    caller.close();
    admin.close();
    await tracker.stop();
    await proxy.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('the run is told that it is lost, and what it does all the same changes nothing', async () => {
    await caller.call('JobService/SubmitJob', { job: { task_id: 't', node_group: 'g' } });
    await eventually(() => told.length === 1, { what: 'the job runs' });
    const other = await new WorkStream(caller, { group: 'g', nodeId: 'other' }).join(1);
    proxy.blackhole();

    const task = await eventually(() => other.tasks[0], { withinMs: 15_000, what: 'the job is given to the other worker' });
    expect(task.attempt).toBe(2);
    await eventually(() => told.length === 2, { withinMs: 5_000, what: 'the run behind the cut is told' });
    expect(told).toEqual(['begun', 'lost']);
    expect(await other.report({ instance_id: task.instance_id, attempt: 2, incarnation: other.incarnation, outcome: 'ATTEMPT_OUTCOME_SUCCESS', message: 'by the other' })).toEqual([]);

    proxy.heal();
    const late = async (): Promise<boolean> => (await admin.attempts(task.instance_id))[0]?.late_outcome === 'ATTEMPT_OUTCOME_SUCCESS';
    await eventually(late, { withinMs: 15_000, what: 'the late result is recorded' });
    expect(await admin.attempts(task.instance_id)).toMatchObject([
      { attempt: 1, task_tracker: 'cut-off', outcome: 'ATTEMPT_OUTCOME_LOST', late_message: 'done in spite of it' },
      { attempt: 2, task_tracker: 'other', outcome: 'ATTEMPT_OUTCOME_SUCCESS', message: 'by the other' },
    ]);
    expect(await admin.instance(task.instance_id)).toMatchObject({ state: 'INSTANCE_STATE_SUCCEEDED', attempt: 2, message: 'by the other' });
    await other.goodbye();
  });
});
