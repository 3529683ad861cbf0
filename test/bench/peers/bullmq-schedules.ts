import { Queue, Worker } from 'bullmq';
import { serve } from '../frame/child.js';
import { machineNow } from '../frame/machine-clock.js';
import { StartRecord } from '../frame/start-record.js';
import { systemClock } from '../../../shared/time/clock.js';
import { type BullmqSettings, queueName } from './bullmq-settings.js';

const everyMs = 60_000;
const callsInFlight = 64;
const record = new StartRecord();
let queue: Queue | undefined;
let worker: Worker | undefined;

/** Job schedulers that fire once a minute, spread evenly; gives how many a second were acked. */
async function load(count: number): Promise<number> {
  const begun = machineNow();
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < count) {
      const number = next++;
      await queue?.upsertJobScheduler(`schedule-${number}`, { every: everyMs, offset: Math.floor((number / count) * everyMs) }, { name: 'bench', data: { number }, opts: { removeOnComplete: true, removeOnFail: true } });
    }
  };
  await Promise.all(Array.from({ length: callsInFlight }, caller));
  return (count / (machineNow() - begun)) * 1_000;
}

serve({
  async open({ host, port, concurrency }: BullmqSettings) {
    queue = new Queue(queueName, { connection: { host, port } });
    worker = new Worker<{ number: number }>(
      queueName,
      // The id of such a job ends in its time.
      async ({ data, id }) => {
        record.add(data.number, Number(id?.slice(id.lastIndexOf(':') + 1)), systemClock.now());
      },
      { connection: { host, port, maxRetriesPerRequest: null }, concurrency },
    );
    await queue.waitUntilReady();
    await worker.waitUntilReady();
  },
  load,
  starts: () => record.all(),
  async close() {
    await worker?.close();
    await queue?.close();
  },
});
