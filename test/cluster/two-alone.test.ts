import { afterEach, expect, it } from 'vitest';
import { eventually } from '../kit/eventually.js';
import { type Postgres, startPostgres } from '../kit/postgres.js';
import { ServiceProcess } from '../kit/service-process.js';
import { Admin } from './admin.js';

const partitions = 64;
let postgres: Postgres;
let trackers: ServiceProcess[] = [];

afterEach(async () => {
  for (const tracker of trackers) {
    tracker.kill();
    await tracker.exited();
  }
  trackers = [];
  await postgres.stop();
});

it('of two trackers without a ZooKeeper on one database the older one ends and says why, instead of taking turns', async () => {
  postgres = await startPostgres();
  const start = async (name: string): Promise<ServiceProcess> => {
    const tracker = new ServiceProcess(['job-tracker', '--node-id', name, '--listen', '127.0.0.1:0', '--store', 'postgres', '--postgres-url', postgres.url]);
    trackers.push(tracker);
    await eventually(() => tracker.logged('owner.taken').length > 0, { withinMs: 30_000, what: `${name} takes the partitions` });
    return tracker;
  };
  const older = await start('older');
  const newer = await start('newer');
  expect(await older.exited(30_000)).not.toBe(0);
  expect(older.output).toContain('tracker newer has taken the partitions over; without a ZooKeeper only one tracker can work on a store');
  const admin = new Admin(await newer.address());
  expect((await admin.cluster()).owned).toHaveLength(partitions);
  admin.close();
  expect(newer.logged('owner.fenced')).toEqual([]);
});
