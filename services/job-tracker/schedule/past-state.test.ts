import { describe, expect, it } from 'vitest';
import type { Job } from '../../../shared/grpc/generated/lts/v1/Job.js';
import { encodeJob } from '../../../shared/grpc/job-codec.js';
import { newId } from '../../../shared/ids.js';
import { checkJob } from '../../../shared/job/check-job.js';
import { pastState } from './past-state.js';

const start = Date.UTC(2030, 0, 1);
const minute = 60_000;
const repeat = { repeat_interval: minute, repeat_count: -1 };
const delay = { ...repeat, repeat_mode: 'REPEAT_MODE_FIXED_DELAY' } as const;

/** Ended so long after the start, its last time answered so long after it. */
function ended(job: Job, at: number, answered: number | undefined): string {
  return pastState({
    id: newId(start), nodeGroup: 'g', taskId: 't', endedAt: start + at, lastAt: undefined, answeredAt: answered === undefined ? undefined : start + answered,
    job: encodeJob(checkJob({ task_id: 't', node_group: 'g', ...job })),
  });
}

describe('pastState', () => {
  it.each<[string, string, Job, number, number | undefined]>([
    ['OVER', 'a repeat with its last run', { ...repeat, repeat_count: 2 }, minute + 5, minute + 5],
    ['DELETED', 'a repeat before its last run', { ...repeat, repeat_count: 2 }, 5_000, 5],
    ['DELETED', 'a repeat without end, at a fire', repeat, 5, 5],
    ['OVER', 'a repeat at its end', { ...repeat, end_time: start + 3 * minute }, 3 * minute, 3 * minute],
    ['DELETED', 'a repeat before its end', { ...repeat, end_time: start + 3 * minute }, 2 * minute + 1, 2 * minute],
    ['OVER', 'a cron at its last time', { cron_expression: '* * * * *', end_time: start + 3 * minute }, 3 * minute, 3 * minute],
    ['OVER', 'a cron after its last time', { cron_expression: '* * * * *', end_time: start + 3 * minute }, 4 * minute, 2 * minute],
    ['DELETED', 'a cron before its last time', { cron_expression: '* * * * *', end_time: start + 3 * minute }, 2 * minute, 2 * minute],
    ['DELETED', 'a cron without end that never fired', { cron_expression: '* * * * *' }, minute, undefined],
    ['OVER', 'a delay whose next time would be after its end', { ...delay, end_time: start + 90_000 }, minute, minute],
    ['DELETED', 'a delay that waits for its next time', { ...delay, end_time: start + 90_000 }, 59_000, 5],
    ['DELETED', 'a delay without end', delay, minute, minute],
  ])('%s: %s', (state, _name, job, at, answered) => {
    expect(ended(job, at, answered)).toBe(state);
  });
});
