import { afterEach, expect, it } from 'vitest';
import { JobClient } from '../../services/job-client/index.js';
import { eventually } from '../kit/eventually.js';
import { Cluster, group } from './cluster.js';

const jobs = 100_000;
const batch = 500;
const inFlight = 4;
/** Sessions come and go, and a member may register anew; a job may not. */
const mostWrites = 20;

let cluster: Cluster;
let client: JobClient;

afterEach(async () => {
  await client.close();
  await cluster.stop();
});

it('the registry is written for members and owners, never for a job: its own counter says so over 100,000 jobs', async () => {
  cluster = await Cluster.start({ trackers: 2 });
  await cluster.startWorker('w1', { workThreads: 500 });
  await cluster.workersConnected(1);
  client = new JobClient({ trackers: cluster.addresses, submitTimeout: 60_000 });
  const { zookeeper } = cluster;
  if (zookeeper === undefined) throw new Error('there is no ZooKeeper');
  const owner = await cluster.owner();
  const before = await zookeeper.writes();

  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < jobs) {
      const from = next;
      next += batch;
      const some = Array.from({ length: batch }, (_, i) => ({ task_id: `task-${from + i}`, node_group: group, type: 'silent' }));
      const answers = await client.submitMany(some);
      expect(answers.filter(({ outcome }) => outcome !== 'SUBMIT_OUTCOME_ACCEPTED')).toEqual([]);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  const left = async (): Promise<number> => (await owner.admin.queues()).reduce((sum, { waiting, ready, executing }) => sum + waiting + ready + executing, 0);
  await eventually(async () => (await left()) === 0, { withinMs: 60_000, everyMs: 100, what: 'all jobs have run' });

  const writes = (await zookeeper.writes()) - before;
  process.stdout.write(`writes of the registry over ${jobs} jobs: ${writes}\n`);
  expect(writes).toBeLessThanOrEqual(mostWrites);
});
