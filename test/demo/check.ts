import type { JobResult } from '../../services/job-client/index.js';
import type { Instance__Output } from '../../shared/grpc/generated/lts/v1/Instance.js';
import { addUp, type FileCount, type Totals } from './count.js';
import { poisonAttempts } from './jobs.js';
import type { FileResult, TimedResult } from './runners.js';

/** All that the demonstration saw. */
export interface Seen {
  /** By task_id. */
  results: ReadonlyMap<string, JobResult>;
  /** By task_id. */
  instances: ReadonlyMap<string, Instance__Output>;
  /** By path, counted here. */
  direct: ReadonlyMap<string, FileCount>;
}

/** Totals by the workers, and what is wrong; nothing when all is as it should be. */
export interface Verdict {
  byWorkers: Totals;
  directly: Totals;
  faults: string[];
}

const latestStartMs = 1_000;

/** Compares what the workers found with what was counted directly, and each special job with what it must do. */
export function check({ results, instances, direct }: Seen): Verdict {
  const faults: string[] = [];
  const expect = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(fault);
  };
  const counted = new Map<string, FileCount>();
  for (const [taskId, result] of results) {
    if (!taskId.startsWith('file-')) continue;
    expect(result.state === 'INSTANCE_STATE_SUCCEEDED', `${taskId} ended as ${result.state}: ${result.message}`);
    if (result.state !== 'INSTANCE_STATE_SUCCEEDED') continue;
    const { path, ...count } = JSON.parse(result.message) as FileResult;
    counted.set(path, count);
  }
  const byWorkers = addUp(counted);
  const directly = addUp(direct);
  expect(JSON.stringify(byWorkers) === JSON.stringify(directly), `the totals differ: ${JSON.stringify(byWorkers)} by the workers, ${JSON.stringify(directly)} directly`);
  checkSpecial(results, expect);
  for (const [taskId, instance] of instances) {
    expect(results.get(taskId)?.state === instance.state, `${taskId}: the result says ${results.get(taskId)?.state}, the store ${instance.state}`);
  }
  expect(instances.size === results.size, `${results.size} results for ${instances.size} jobs in the store`);
  expect([...instances.values()].some((instance) => instance.lost_times > 0), 'the killed worker held no job: nothing was requeued');
  return { byWorkers, directly, faults };
}

function checkSpecial(results: ReadonlyMap<string, JobResult>, expect: (holds: boolean, fault: string) => void): void {
  const poison = results.get('poison');
  expect(poison?.state === 'INSTANCE_STATE_FAILED', `poison ended as ${poison?.state}`);
  expect((poison?.attempt ?? 0) >= poisonAttempts, `poison had ${poison?.attempt} attempts, not ${poisonAttempts}`);
  const later = results.get('later');
  expect(later?.state === 'INSTANCE_STATE_SUCCEEDED' && later.attempt >= 2, `later ended as ${later?.state} after ${later?.attempt} attempts`);
  const timed = results.get('timed');
  if (timed?.state !== 'INSTANCE_STATE_SUCCEEDED') return expect(false, `timed ended as ${timed?.state}`);
  const { dueAt, startedAt } = JSON.parse(timed.message) as TimedResult;
  // A timed job whose worker was killed starts again later, and says so by its attempt.
  expect(startedAt >= dueAt && (startedAt <= dueAt + latestStartMs || timed.attempt > 1), `timed was due at ${dueAt} and started at ${startedAt}`);
}
