import { Queue } from 'bullmq';
import { serveProducer } from '../frame/producer.js';
import { type BullmqPayload, type BullmqSettings, queueName } from './bullmq-settings.js';

serveProducer(async ({ host, port }: BullmqSettings) => {
  const queue = new Queue<BullmqPayload>(queueName, {
    connection: { host, port },
    defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
  });
  await queue.waitUntilReady();
  return {
    async submit(jobs) {
      const [first, ...others] = jobs.map(({ number, payload }) => ({ name: 'bench', data: { number, data: payload } }));
      if (first === undefined) return;
      if (others.length === 0) await queue.add(first.name, first.data);
      else await queue.addBulk([first, ...others]);
    },
    close: () => queue.close(),
  };
});
