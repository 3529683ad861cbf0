import { join } from 'node:path';
import { TaskTracker } from '../../../services/task-tracker/index.js';
import { serveWorker } from '../frame/worker.js';
import { Queues } from './queues.js';
import { type LtsSettings, nodeGroupOf } from './settings.js';

serveWorker(async ({ trackers, folder, groups, workThreads }: LtsSettings, ran) => {
  const queues = new Queues(trackers);
  const workers = Array.from(
    { length: groups },
    (_, group) =>
      new TaskTracker({
        trackers,
        nodeGroup: nodeGroupOf(group, groups),
        workThreads: Math.ceil(workThreads / groups),
        dataDir: join(folder, 'worker'),
        runners: ({ job }) => ran(Number(job.taskId)),
      }),
  );
  await Promise.all(workers.map((worker) => worker.start()));
  await Promise.all(workers.map((worker) => worker.connected));
  return {
    flushed: () => queues.empty(),
    async close() {
      await Promise.all(workers.map((worker) => worker.drain()));
      queues.close();
    },
  };
});
