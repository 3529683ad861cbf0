import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ServiceProcess } from './service-process.js';

/** The suite on its embedded parts, each service a process of its own. */
export interface Suite {
  gateway: string;
  tracker: string;
  workers: ServiceProcess[];
  /** Stops what runs, workers first. Tells which services did not leave by themselves. */
  stop(): Promise<string[]>;
}

export const workerGroup = 'demo';
export const slotsPerWorker = 4;

/** A lost worker's jobs are given to others after this time; short, so that the demonstration is. */
const grace = '2s';

/** Starts a JobTracker, a gateway and two workers on free ports of 127.0.0.1, with their data in `folder`. */
export async function startSuite(folder: string): Promise<Suite> {
  const started: ServiceProcess[] = [];
  const stop = async (): Promise<string[]> => {
    const stubborn: string[] = [];
    for (const service of started.splice(0).toReversed()) if (!(await service.stop())) stubborn.push(service.name);
    return stubborn;
  };
  const start = async (name: string, args: string[]): Promise<{ service: ServiceProcess; address: string }> => {
    const made = await ServiceProcess.start(name, [...args, '--data-dir', join(folder, name)]);
    started.push(made.service);
    return made;
  };
  try {
    const tracker = await start('job-tracker', ['job-tracker', '--listen', '127.0.0.1:0', '--grace', grace, '--ping-interval', '500ms']);
    const gateway = await start('job-client', ['job-client', '--listen', '127.0.0.1:0', '--trackers', tracker.address]);
    const runners = fileURLToPath(new URL('./runners.js', import.meta.url));
    const workers: ServiceProcess[] = [];
    for (const name of ['worker-1', 'worker-2']) {
      const args = ['task-tracker', '--group', workerGroup, '--runners', runners, '--trackers', tracker.address, '--work-threads', String(slotsPerWorker), '--node-id', name];
      workers.push((await start(name, args)).service);
    }
    return { gateway: gateway.address, tracker: tracker.address, workers, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
