import { join } from 'node:path';
import { connect } from 'node:net';
import { packageRoot } from '../../../shared/package-root.js';
import { OwnServer, serverFolder } from '../../kit/own-server.js';
import { freePort } from '../../kit/ports.js';
import type { Contender } from '../contender.js';
import { ProcessContender, type Servers } from '../frame/process-contender.js';
import type { LtsSettings } from '../ours/settings.js';

/** Our own services: one JobTracker as users start it, and the two libraries in processes of their own. */
export function lts(parent: string, _store: 'sqlite'): Contender {
  return new ProcessContender({
    name: 'light-task-scheduler',
    startServers: () => startTracker(parent),
    producerScript: new URL('../ours/producer.js', import.meta.url),
    workerScript: new URL('../ours/worker.js', import.meta.url),
  });
}

async function startTracker(parent: string): Promise<Servers<LtsSettings, LtsSettings>> {
  const folder = serverFolder('lts', parent);
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const tracker = new OwnServer({
    name: 'job-tracker',
    command: process.execPath,
    args: [join(packageRoot, 'dist/services/cli/main.js'), 'job-tracker', '--listen', address, '--data-dir', join(folder, 'tracker')],
    folder,
    stopSignal: 'SIGTERM',
  });
  await tracker.ready(() => reachable(port));
  const settings: LtsSettings = { tracker: address, folder, workThreads: 1_000 };
  return { producer: settings, worker: settings, stop: () => tracker.stop() };
}

function reachable(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}
