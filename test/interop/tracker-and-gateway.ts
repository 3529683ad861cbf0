import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceProcess } from '../kit/service-process.js';

/** A real JobTracker and a real gateway before it, each a process of its own. */
export interface TrackerAndGateway {
  tracker: ServiceProcess;
  gateway: ServiceProcess;
  trackerAddress: string;
  gatewayAddress: string;
  stop(): Promise<void>;
}

/** Starts both on free ports, with data in a folder of their own. */
export async function startTrackerAndGateway(trackerFlags: readonly string[] = []): Promise<TrackerAndGateway> {
  const dir = mkdtempSync(join(tmpdir(), 'lts-interop-'));
  const tracker = new ServiceProcess(['job-tracker', '--listen', '127.0.0.1:0', '--data-dir', join(dir, 'tracker'), ...trackerFlags]);
  const trackerAddress = await tracker.address();
  const gateway = new ServiceProcess(['job-client', '--listen', '127.0.0.1:0', '--data-dir', join(dir, 'gateway'), '--trackers', trackerAddress]);
  const gatewayAddress = await gateway.address();
  const stop = async (): Promise<void> => {
    await Promise.all([gateway.stop(), tracker.stop()]);
    rmSync(dir, { recursive: true, force: true });
  };
  return { tracker, gateway, trackerAddress, gatewayAddress, stop };
}
