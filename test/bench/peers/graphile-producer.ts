import { Logger, makeWorkerUtils } from 'graphile-worker';
import pg from 'pg';
import { serveProducer } from '../frame/producer.js';
import { type GraphilePayload, type GraphileSettings, rethrow, taskName } from './graphile-settings.js';

serveProducer(async (settings: GraphileSettings) => {
  const pgPool = new pg.Pool({ connectionString: settings.url, max: settings.maxPoolSize });
  pgPool.on('error', rethrow).on('connect', (client) => void client.on('error', rethrow));
  const utils = await makeWorkerUtils({ pgPool, logger: new Logger(() => () => undefined) });
  await utils.migrate();
  return {
    async submit(jobs) {
      const [first, ...others] = jobs.map(({ number, payload }) => ({ identifier: taskName, payload: { number, data: payload } satisfies GraphilePayload }));
      if (first === undefined) return;
      if (others.length === 0) await utils.addJob(first.identifier, first.payload);
      else await utils.addJobs([first, ...others]);
    },
    async close() {
      await utils.release();
      await pgPool.end();
    },
  };
});
