import { startRedis } from '../../kit/redis.js';
import type { Contender } from '../contender.js';
import { ProcessContender } from '../frame/process-contender.js';
import type { BullmqSettings } from '../peers/bullmq-settings.js';

/** BullMQ on a Redis that syncs its file every second: up to one second of acked jobs is not durable yet. */
export function bullmq(parent: string): Contender {
  return new ProcessContender<BullmqSettings, BullmqSettings>({
    name: 'bullmq',
    startServers: async () => {
      const redis = await startRedis({ parent });
      const settings: BullmqSettings = { host: redis.host, port: redis.port, concurrency: 100 };
      return { producer: settings, worker: settings, stop: () => redis.stop() };
    },
    producerScript: new URL('../peers/bullmq-producer.js', import.meta.url),
    workerScript: new URL('../peers/bullmq-worker.js', import.meta.url),
  });
}
