import { Logger, parseCronItems, run, type Runner } from 'graphile-worker';
import pg from 'pg';
import { serve } from '../frame/child.js';
import { machineNow } from '../frame/machine-clock.js';
import { StartRecord } from '../frame/start-record.js';
import { systemClock } from '../../../shared/time/clock.js';
import { type GraphileSettings, rethrow, taskName } from './graphile-settings.js';

const record = new StartRecord();
let settings: GraphileSettings | undefined;
let pool: pg.Pool | undefined;
let runner: Runner | undefined;

/** Lines of a crontab; all fire at the beginning of each minute, since a minute is its grain. Gives how many a second were known. */
async function load(count: number): Promise<number> {
  if (settings === undefined) throw new Error('it is not open');
  const begun = machineNow();
  pool = new pg.Pool({ connectionString: settings.url, max: settings.maxPoolSize });
  pool.on('error', rethrow).on('connect', (client) => void client.on('error', rethrow));
  runner = await run({
    pgPool: pool,
    noHandleSignals: true,
    logger: new Logger(() => () => undefined),
    preset: { worker: settings.worker },
    taskList: {
      [taskName]: (payload) => {
        const { number, _cron } = payload as { number: number; _cron: { ts: string } };
        record.add(number, Date.parse(_cron.ts), systemClock.now());
      },
    },
    parsedCronItems: parseCronItems(Array.from({ length: count }, (_, number) => ({ task: taskName, match: '* * * * *', identifier: `schedule-${number}`, payload: { number } }))),
  });
  return (count / (machineNow() - begun)) * 1_000;
}

serve({
  open(given: GraphileSettings) {
    settings = given;
  },
  load,
  starts: () => record.all(),
  async close() {
    await runner?.stop();
    await pool?.end();
  },
});
