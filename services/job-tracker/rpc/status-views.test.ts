import { describe, expect, it } from 'vitest';
import { GroupWorkers } from '../dispatch/group-workers.js';
import { explain } from '../explain/explain.js';
import { OwnedGroups } from '../queue/owned-groups.js';
import { heldUntil } from '../queue/schedule-store.js';
import type { InstanceRow } from '../queue/status-queries.js';
import { toInstance } from './status-views.js';

const scheduledAt = 1_700_000_000_000;
const run: InstanceRow = {
  seq: 1, id: 'i', nodeGroup: 'g', taskId: 't', type: 'x', priority: 100, state: 'WAITING', blocked: false, createdAt: scheduledAt, dueAt: heldUntil, scheduledAt,
  endedAt: 0, attempts: 0, retryTimes: 0, lostTimes: 0, worker: '', message: '', job: undefined,
};

describe('a run of a schedule that waits for the one before it', () => {
  it('is shown with the time for which it stands, which is not the end of all time', () => {
    expect(toInstance(run, new OwnedGroups(1))).toMatchObject({ scheduled_time: scheduledAt, due_at: scheduledAt });
    expect(toInstance({ ...run, dueAt: scheduledAt + 5 }, new OwnedGroups(1))).toMatchObject({ scheduled_time: scheduledAt, due_at: scheduledAt + 5 });
  });

  it('is explained by the run that is still going', () => {
    const workers = new GroupWorkers();
    expect(explain({ instance: run, workers, before: 0, going: [], now: scheduledAt })).toMatchObject([{ reason: 'WAIT_REASON_SAME_TASK_RUNNING', message: expect.stringContaining('task t') }]);
    expect(explain({ instance: run, workers, before: 0, going: ['other'], now: scheduledAt })).toMatchObject([{ reason: 'WAIT_REASON_SAME_TASK_RUNNING', message: expect.stringContaining('run other') }]);
    expect(explain({ instance: { ...run, dueAt: scheduledAt + 5 }, workers, before: 0, going: [], now: scheduledAt })).toMatchObject([{ reason: 'WAIT_REASON_NOT_DUE', until: scheduledAt + 5 }]);
  });
});
