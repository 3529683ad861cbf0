import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../kit/eventually.js';
import { ServiceProcess } from '../kit/service-process.js';

/** A real JobTracker and a real gateway before it, each a process of its own. */
export interface TrackerAndGateway {
  tracker: ServiceProcess;
  gateway: ServiceProcess;
  trackerAddress: string;
  gatewayAddress: string;
  stop(): Promise<void>;
}

/** A JobTracker alone. */
export interface LoneTracker {
  tracker: ServiceProcess;
  address: string;
  stop(): Promise<void>;
}

/** Starts a JobTracker on a free port, with data in a folder of its own. */
export async function startTracker(flags: readonly string[] = [], env: Record<string, string> = {}): Promise<LoneTracker> {
  const dir = mkdtempSync(join(tmpdir(), 'lts-interop-'));
  const tracker = new ServiceProcess(['job-tracker', '--listen', '127.0.0.1:0', '--data-dir', dir, ...flags], env);
  const stop = async (): Promise<void> => {
    await tracker.stop();
    rmSync(dir, { recursive: true, force: true });
  };
  return { tracker, address: await owningAddress(tracker), stop };
}

/** Starts both on free ports, with data in a folder of their own. */
export async function startTrackerAndGateway(trackerFlags: readonly string[] = []): Promise<TrackerAndGateway> {
  const dir = mkdtempSync(join(tmpdir(), 'lts-interop-'));
  const tracker = new ServiceProcess(['job-tracker', '--listen', '127.0.0.1:0', '--data-dir', join(dir, 'tracker'), ...trackerFlags]);
  const trackerAddress = await owningAddress(tracker);
  const gateway = new ServiceProcess(['job-client', '--listen', '127.0.0.1:0', '--data-dir', join(dir, 'gateway'), '--trackers', trackerAddress]);
  const gatewayAddress = await gateway.address();
  const stop = async (): Promise<void> => {
    await Promise.all([gateway.stop(), tracker.stop()]);
    rmSync(dir, { recursive: true, force: true });
  };
  return { tracker, gateway, trackerAddress, gatewayAddress, stop };
}

/** The address of a tracker once it owns its partitions. */
async function owningAddress(tracker: ServiceProcess): Promise<string> {
  const address = await tracker.address();
  await eventually(() => tracker.logged('owner.taken').length > 0, { what: 'the tracker takes its partitions' });
  return address;
}
