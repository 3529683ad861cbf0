import { Worker } from 'bullmq';
import { serveWorker } from '../frame/worker.js';
import { type BullmqPayload, type BullmqSettings, queueName } from './bullmq-settings.js';

serveWorker(async ({ host, port, concurrency }: BullmqSettings, ran) => {
  let started = 0;
  let ended = 0;
  let wake: (() => void) | undefined;
  const worker = new Worker<BullmqPayload>(
    queueName,
    async (job) => {
      started += 1;
      ran(job.data.number);
    },
    { connection: { host, port, maxRetriesPerRequest: null }, concurrency },
  );
  worker.on('completed', () => {
    ended += 1;
    if (ended >= started) wake?.();
  });
  await worker.waitUntilReady();
  return {
    async flushed() {
      while (ended < started) await new Promise<void>((resolve) => (wake = resolve));
    },
    close: () => worker.close(),
  };
});
