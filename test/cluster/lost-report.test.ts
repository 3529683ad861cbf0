import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { JobClient } from '../../services/job-client/index.js';
import { TaskTracker } from '../../services/task-tracker/index.js';
import { eventually } from '../kit/eventually.js';
import { freePort } from '../kit/ports.js';
import { ServiceProcess } from '../kit/service-process.js';
import { TcpProxy } from '../kit/tcp-proxy.js';
import { Admin } from './admin.js';

describe('what a worker and its tracker say of a result is lost on the way', () => {
  let folder: string;
  let proxy: TcpProxy;
  let tracker: ServiceProcess;
  let worker: TaskTracker;
  let admin: Admin;
  let client: JobClient;
  const starts: string[] = [];

  beforeEach(async () => {
    starts.length = 0;
    folder = mkdtempSync(join(tmpdir(), 'lts-lost-report-'));
    const port = await freePort();
    proxy = await TcpProxy.start(port);
    tracker = new ServiceProcess(['job-tracker', '--listen', `127.0.0.1:${port}`, '--advertise', proxy.connect, '--data-dir', join(folder, 'store'), '--ping-interval', '500ms']);
    await tracker.address();
    admin = new Admin(`127.0.0.1:${port}`);
    await eventually(async () => (await admin.cluster()).owned.length > 0);
    client = new JobClient({ gateway: `127.0.0.1:${port}` });
    worker = new TaskTracker({
      trackers: [proxy.connect],
      nodeGroup: 'g',
      dataDir: join(folder, 'worker'),
      runners: ({ instanceId }) => {
        starts.push(instanceId);
        return 'the-result-of-the-run';
      },
    });
    await worker.start();
    await worker.connected;
  });

  afterEach(async () => {
    await worker.drain(0);
    await client.close();
    admin.close();
    await tracker.stop();
    await proxy.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const isReport = (bytes: Buffer): boolean => bytes.includes('the-result-of-the-run');

  it.each(['report', 'ack'] as const)('the %s that was lost: the result is sent again and counts once, the job is not run again', async (what) => {
    let reports = 0;
    if (what === 'report') proxy.swallowOnce('up', isReport);
    proxy.tap = (direction, bytes) => {
      if (direction !== 'up' || !isReport(bytes)) return;
      // After the report, its ack is what comes down the stream.
      if (++reports === 1 && what === 'ack') proxy.swallowOnce('down');
    };
    const { instance_id: id = '' } = await client.submit({ task_id: 't', node_group: 'g' });
    await eventually(() => reports === 2, { what: 'the result is sent again' });
    await eventually(async () => (await admin.instance(id)).state === 'INSTANCE_STATE_SUCCEEDED', { what: 'the job has succeeded' });
    expect(proxy.spent).toBe(true);
    expect(starts).toEqual([id]);
    expect(await admin.attempts(id)).toMatchObject([{ attempt: 1, outcome: 'ATTEMPT_OUTCOME_SUCCESS', message: 'the-result-of-the-run', late_outcome: 'ATTEMPT_OUTCOME_UNSPECIFIED' }]);
  });
});
