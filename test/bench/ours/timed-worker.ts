import { join } from 'node:path';
import { TaskTracker } from '../../../services/task-tracker/index.js';
import { systemClock } from '../../../shared/time/clock.js';
import { serve } from '../frame/child.js';
import { StartRecord } from '../frame/start-record.js';
import { type LtsSettings, nodeGroupOf } from './settings.js';

/** One worker a group, in this process; a run does nothing but note itself. */
let workers: TaskTracker[] = [];
const record = new StartRecord();

serve({
  async open({ trackers, folder, groups, workThreads }: LtsSettings) {
    workers = Array.from(
      { length: groups },
      (_, group) =>
        new TaskTracker({
          trackers,
          nodeGroup: nodeGroupOf(group, groups),
          workThreads: Math.ceil(workThreads / groups),
          dataDir: join(folder, 'worker'),
          runners: ({ job, scheduledTime }) => record.add(Number(job.taskId), scheduledTime.getTime(), systemClock.now()),
        }),
    );
    await Promise.all(workers.map((worker) => worker.start()));
    await Promise.all(workers.map((worker) => worker.connected));
  },
  /** How many runs have begun so far. */
  runs: () => record.length,
  starts: () => record.all(),
  async close() {
    await Promise.all(workers.map((worker) => worker.drain()));
  },
});
