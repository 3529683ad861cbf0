import { Logger, run } from 'graphile-worker';
import pg from 'pg';
import { systemClock } from '../../../shared/time/clock.js';
import { serveWorker } from '../frame/worker.js';
import { type GraphilePayload, type GraphileSettings, rethrow, taskName } from './graphile-settings.js';

serveWorker(async (settings: GraphileSettings, ran) => {
  const pgPool = new pg.Pool({ connectionString: settings.url, max: settings.maxPoolSize });
  pgPool.on('error', rethrow).on('connect', (client) => void client.on('error', rethrow));
  const watch = new pg.Client({ connectionString: settings.url });
  await watch.connect();
  const runner = await run({
    pgPool,
    noHandleSignals: true,
    logger: new Logger(() => () => undefined),
    preset: { worker: settings.worker },
    taskList: {
      [taskName]: (payload) => ran((payload as GraphilePayload).number),
    },
  });
  return {
    // Its event "job:complete" comes before the commit; a completed job's row is deleted.
    async flushed() {
      while (await anyRow(watch)) await systemClock.sleep(1);
    },
    async close() {
      await runner.stop();
      await watch.end();
      await pgPool.end();
    },
  };
});

async function anyRow(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ any: boolean }>({ name: 'any', text: 'select exists (select 1 from graphile_worker._private_jobs) as any' });
  return rows[0]?.any === true;
}
