import { afterEach, beforeEach, expect, it } from 'vitest';
import { CommitFailed } from '../../services/job-tracker/queue/queue-store.js';
import { RepairBench } from './repair-bench.js';

let bench: RepairBench;

beforeEach(async () => {
  bench = await RepairBench.start();
});

afterEach(() => bench.stop());

it('a store that takes no commit is told of once, not with each commit, and shown until it takes one', async () => {
  const commit = bench.store.commit.bind(bench.store);
  bench.store.commit = () => Promise.reject(new CommitFailed('DISK_LOW', 'the disk is full', true));
  for (let time = 0; time < 5; time++) await expect(bench.submit()).rejects.toThrow('DISK_LOW');
  expect(bench.lines.filter(([event]) => event === 'store.failed')).toEqual([['store.failed', { operation: 'commit', reason: 'DISK_LOW', why: 'the disk is full' }]]);
  expect(await bench.core.clusterStatus()).toMatchObject({ degraded: true, store_message: 'the disk is full' });
  bench.store.commit = commit;
  await bench.submit();
  expect(await bench.core.clusterStatus()).toMatchObject({ degraded: false, store_message: '' });
});
