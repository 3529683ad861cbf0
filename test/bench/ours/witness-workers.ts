import { join } from 'node:path';
import { TaskTracker } from '../../../services/task-tracker/index.js';
import { runners } from '../../cluster/witness-runners.js';
import { serve } from '../frame/child.js';
import { type LtsSettings, nodeGroupOf, nodeIdOf } from './settings.js';

/** One worker a group, in this process, whose runs write down that they began and ended. */
let workers: TaskTracker[] = [];

serve({
  async open({ trackers, folder, groups, workThreads }: LtsSettings) {
    workers = Array.from(
      { length: groups },
      (_, group) => new TaskTracker({ trackers, nodeGroup: nodeGroupOf(group, groups), workThreads, dataDir: join(folder, 'failstores'), nodeId: nodeIdOf(process.pid), runners }),
    );
    await Promise.all(workers.map((worker) => worker.start()));
    await Promise.all(workers.map((worker) => worker.connected));
  },
  async close() {
    await Promise.all(workers.map((worker) => worker.drain()));
  },
});
