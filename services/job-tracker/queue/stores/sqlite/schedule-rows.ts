import { idFromBytes } from '../../../../../shared/ids.js';
import type { ScheduleRow } from '../../queue-store.js';
import { policyOf } from '../policy-text.js';

/** A schedule as the statements read it. */
export interface ScheduleData extends Omit<ScheduleRow, 'id' | 'needFeedback' | 'policy' | 'state' | 'nextAt' | 'lastAt' | 'job'> {
  id: Buffer;
  needFeedback: number;
  policy: string | null;
  active: number;
  nextAt: number | null;
  lastAt: number | null;
  job: Buffer | null;
}

/** Of `schedule s`, with what `scheduleJoins` adds. */
export const scheduleColumns = `s.sched, s.version, i.id, g.name AS nodeGroup, s.task_id AS taskId, i.type, i.priority,
  i.client_id IS NOT NULL AS needFeedback, c.name AS submitNodeGroup, i.policy, s.plan, s.active, s.next_at AS nextAt, s.fires, s.last_at AS lastAt,
  i.created_at AS createdAt, s.updated_at AS updatedAt`;

export const scheduleJoins = 'CROSS JOIN instance i ON i.seq = s.seq CROSS JOIN client_group c ON c.client_id = s.submit_id';

export function scheduleRow({ active, ...row }: ScheduleData): ScheduleRow {
  return {
    ...row,
    id: idFromBytes(row.id),
    needFeedback: row.needFeedback === 1,
    policy: policyOf(row.policy),
    state: active === 1 ? 'ACTIVE' : 'SUSPENDED',
    nextAt: row.nextAt ?? undefined,
    lastAt: row.lastAt ?? undefined,
    job: row.job ?? undefined,
  };
}
