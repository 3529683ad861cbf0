import { describe, expect, it } from 'vitest';
import type { GroupWorkers } from '../dispatch/group-workers.js';
import { heldUntil, type ScheduleRow } from '../queue/queue-store.js';
import type { InstanceRow } from '../queue/status-queries.js';
import { explain, explainSchedule } from './explain.js';

const held = { id: 'b', nodeGroup: 'g', taskId: 't', state: 'WAITING', blocked: false, dueAt: heldUntil, attempts: 0 } as InstanceRow;
const about = (going: string[]): unknown => explain({ instance: held, workers: {} as GroupWorkers, before: 0, going, now: 5 });

describe('explain', () => {
  it('names the run behind which a run of a schedule is held', () => {
    expect(about(['a'])).toEqual([{ reason: 'WAIT_REASON_SAME_TASK_RUNNING', message: 'it is held until run a of task t has ended' }]);
    expect(about(['a', 'x', 'y'])).toEqual([{ reason: 'WAIT_REASON_SAME_TASK_RUNNING', message: 'it is held until run a of task t has ended, or one of 2 others' }]);
    expect(about([])).toEqual([{ reason: 'WAIT_REASON_SAME_TASK_RUNNING', message: 'an earlier run of task t has not ended' }]);
  });

  it.each([
    ['suspended', { state: 'SUSPENDED', nextAt: undefined }, { reason: 'WAIT_REASON_SUSPENDED', message: expect.stringContaining('lts schedule resume') }],
    ['active', { state: 'ACTIVE', nextAt: 1_005 }, { reason: 'WAIT_REASON_NOT_DUE', message: expect.stringContaining('comes in 1 s'), until: 1_005 }],
    ['resting', { state: 'ACTIVE', nextAt: undefined }, { reason: 'WAIT_REASON_SAME_TASK_RUNNING', message: expect.stringContaining('end of its run') }],
  ] as const)('tells why nothing of a schedule runs that is %s', (_name, fields, cause) => {
    const row = { id: 's', nodeGroup: 'g', taskId: 't', ...fields } as ScheduleRow;
    expect(explainSchedule(row, 5)).toEqual({ instance_id: 's', state: 'INSTANCE_STATE_WAITING', causes: [cause] });
  });
});
