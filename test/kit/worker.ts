import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunnerContext, type Runners, TaskTracker, type TaskTrackerOptions } from '../../services/task-tracker/index.js';
import { eventually } from './eventually.js';
import { FakeJobTracker, type FakeJobTrackerOptions } from './fake-job-tracker.js';

const trackers: FakeJobTracker[] = [];
const workers: TaskTracker[] = [];
const folders: string[] = [];

/** Ends what the test has started. For afterEach. */
export async function cleanUp(): Promise<void> {
  await Promise.all(workers.splice(0).map((worker) => worker.drain(0)));
  for (const tracker of trackers.splice(0)) tracker.stop();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** A fake tracker that serves. */
export async function fakeTracker(options: Partial<FakeJobTrackerOptions> = {}): Promise<FakeJobTracker> {
  const tracker = await new FakeJobTracker(options).start();
  trackers.push(tracker);
  return tracker;
}

/** A new folder for data. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'lts-worker-'));
  folders.push(path);
  return path;
}

/** A worker of group g that has got its first slots granted. */
export async function startWorker(tracker: FakeJobTracker, runners: Runners | string | URL, options: Partial<TaskTrackerOptions> = {}): Promise<TaskTracker> {
  const worker = new TaskTracker({ trackers: [tracker.address], nodeGroup: 'g', runners, workThreads: 4, dataDir: folder(), deliverMs: 500, ...options });
  workers.push(worker);
  await worker.start();
  await worker.connected;
  await eventually(() => tracker.session.granted > 0);
  return worker;
}

/** A runner that ends when it is told to. */
export function gate(): { runner: (context: RunnerContext) => Promise<string>; started: RunnerContext[]; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const started: RunnerContext[] = [];
  const runner = async (context: RunnerContext): Promise<string> => {
    started.push(context);
    await opened;
    return 'through';
  };
  return { runner, started, open };
}
