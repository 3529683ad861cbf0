import { startPostgres } from '../../kit/postgres.js';
import type { Contender } from '../contender.js';
import { ProcessContender } from '../frame/process-contender.js';
import type { GraphileSettings } from '../peers/graphile-settings.js';

/** graphile-worker as its documentation tunes it for throughput: jobs fetched 500 at a time, completions in batches. */
export function tunedGraphile(parent: string): Contender {
  return graphile('graphile-worker (tuned)', parent, {
    maxPoolSize: 26,
    worker: { concurrentJobs: 24, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
  });
}

/** graphile-worker with every setting at its default. */
export function defaultGraphile(parent: string): Contender {
  return graphile('graphile-worker (default)', parent, { maxPoolSize: 10, worker: {} });
}

function graphile(name: string, parent: string, settings: Omit<GraphileSettings, 'url'>): Contender {
  return new ProcessContender({
    name,
    startServers: async () => {
      const postgres = await startPostgres({ parent });
      const reached: GraphileSettings = { ...settings, url: postgres.url };
      return { producer: reached, worker: reached, stop: () => postgres.stop() };
    },
    producerScript: new URL('../peers/graphile-producer.js', import.meta.url),
    workerScript: new URL('../peers/graphile-worker.js', import.meta.url),
    // Without it every job costs a log line that nobody reads.
    environment: { NO_LOG_SUCCESS: '1' },
  });
}
