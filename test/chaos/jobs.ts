import type { NewJob } from '../../services/job-client/index.js';
import type { Random } from './random.js';

/** A job of the load and what is done with it. */
export interface PlannedJob {
  job: Pick<NewJob, 'node_group' | 'type'> & Partial<NewJob>;
  /** It is cancelled so long after it was acked. */
  cancelAfterMs?: number;
}

/** The mix: quick ones above all, and each way a job can go. `trueNow` is the wall time in milliseconds. */
export function nextJob(random: Random, groups: readonly string[], trueNow: number): PlannedJob {
  const node_group = random.pick(groups);
  const need_feedback = random.next() < 0.8;
  const base = { node_group, need_feedback };
  const slow = { ...base, type: 'slow', payload: `${random.whole(50, 1_000)}` };
  const kinds: { weight: number; job: PlannedJob }[] = [
    { weight: 64, job: { job: { ...base, type: 'quick' } } },
    { weight: 8, job: { job: slow } },
    { weight: 6, job: { job: { ...base, type: 'quick', trigger_time: Math.round(trueNow) + random.whole(500, 5_000) } } },
    { weight: 6, job: { job: { ...base, type: 'fail', payload: `${random.whole(1, 2)}`, max_retry_times: random.whole(1, 2), retry_policy: { delay: random.whole(1, 1_000) } } } },
    { weight: 4, job: { job: { ...base, type: 'later', max_retry_times: 1 } } },
    { weight: 7, job: { job: { ...slow, on_worker_loss: 'FAIL' } } },
    { weight: 3, job: { job: { ...base, type: 'slow', payload: '1500' }, cancelAfterMs: random.whole(0, 1_000) } },
    { weight: 2, job: { job: { ...base, type: 'fail', payload: '9', max_retry_times: 9, retry_policy: { delay: 300 } }, cancelAfterMs: random.whole(0, 2_000) } },
  ];
  return random.weighted(kinds).job;
}
