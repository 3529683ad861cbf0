import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { TaskTracker } from '../../../services/task-tracker/index.js';
import { contract } from '../../../shared/grpc/contract.js';
import type { Queue__Output } from '../../../shared/grpc/generated/lts/v1/Queue.js';
import { systemClock } from '../../../shared/time/clock.js';
import { serveWorker } from '../frame/worker.js';
import { type LtsSettings, nodeGroup } from './settings.js';

serveWorker(async ({ tracker, folder, workThreads }: LtsSettings, ran) => {
  const admin = new contract.AdminService(tracker, credentials.createInsecure());
  const queues = (): Promise<Queue__Output[]> =>
    new Promise((resolve, reject) => {
      admin.ListQueues({ node_group: nodeGroup }, (error, answer) => (error === null ? resolve(answer?.queues ?? []) : reject(error)));
    });
  const worker = new TaskTracker({
    trackers: [tracker],
    nodeGroup,
    workThreads,
    dataDir: join(folder, 'worker'),
    runners: ({ job }) => ran(Number(job.taskId)),
  });
  await worker.start();
  await worker.connected;
  return {
    // A run leaves the executing queue when its result is committed; its ack is on the way then.
    async flushed() {
      while ((await queues()).some(({ waiting, ready, executing }) => waiting + ready + executing > 0)) await systemClock.sleep(1);
    },
    async close() {
      await worker.drain();
      admin.close();
    },
  };
});
