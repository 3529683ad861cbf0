import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type FailStore, openFailStore } from '../../../shared/failstore/fail-store.js';
import { encodeJob } from '../../../shared/grpc/job-codec.js';
import { newId } from '../../../shared/ids.js';
import { silentLogger } from '../../../shared/log/logger.js';
import { systemClock } from '../../../shared/time/clock.js';
import { eventually } from '../../../test/kit/eventually.js';
import { freePort } from '../../../test/kit/ports.js';
import { gatewayRouter } from '../discover/router.js';
import { TrackerClients } from '../discover/tracker-clients.js';
import { FakeTracker } from '../fake-tracker.js';
import { Drain } from './drain.js';
import { submitEntry } from './entries.js';
import { Outbox } from './outbox.js';

function put(store: FailStore, taskId: string): string {
  const instanceId = newId();
  const bytes = encodeJob({ task_id: taskId, node_group: 'g', instance_id: instanceId });
  store.put([submitEntry({ bytes, nodeGroup: 'g', taskId, instanceId, sink: { settle: () => undefined }, index: 0, late: false })]);
  return instanceId;
}

it('sends what waits once a tracker is back, although more arrives all the time', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'drain-'));
  const store = openFailStore({ dir, nodeId: 'n', incarnation: newId(), maxBytes: 1e9, log: silentLogger });
  const first = put(store, 'first');
  let reads = 0;
  // Whenever the drain looks for more, there is more.
  const growing = new Proxy(store, {
    get: (target, name): unknown => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name === 'pending') put(store, `more-${reads++}`);
      return (value as () => unknown).bind(target);
    },
  });
  const port = await freePort();
  const clients = new TrackerClients();
  const outbox = new Outbox(growing, silentLogger, systemClock, () => undefined);
  const drain = new Drain({ router: gatewayRouter(`127.0.0.1:${port}`), clients, clock: systemClock }, outbox, silentLogger, 100);
  const tracker = new FakeTracker();
  onTestFinished(async () => {
    await drain.close();
    clients.closeAll();
    tracker.stop();
    store.close();
    rmSync(dir, { recursive: true, force: true });
  });
  await eventually(() => store.get(first)?.tries !== 0);
  await tracker.start(port);
  await eventually(() => {
    drain.wake();
    return store.get(first) === undefined;
  });
  expect(tracker.jobs.map(({ instance_id }) => instance_id)).toContain(first);
});
