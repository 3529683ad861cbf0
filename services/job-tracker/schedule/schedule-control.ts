import { LtsError } from '../../../shared/errors/lts-error.js';
import type { ScheduleRow } from '../queue/queue-store.js';

/** A schedule by its task. */
export interface ScheduleName {
  nodeGroup: string;
  taskId: string;
}

/** A schedule with the times to come. */
export interface ShownSchedule {
  schedule: ScheduleRow;
  /** At most 10; none while it is suspended. */
  nextTimes: number[];
}

/** One run by hand. */
export interface TriggerOrder extends ScheduleName {
  /** UUIDv7; empty: it is made. */
  instanceId: string;
  /** In place of those of the job; none: those of the job. */
  extParams: Readonly<Record<string, string>>;
  /** In place of that of the job. */
  payload: Buffer | undefined;
  /** The scheduled time for which it stands; 0: now. */
  scheduledTime: number;
}

/**
 * What people do with a schedule. Every method throws INVALID_ARGUMENT for a name that cannot be, NOT_FOUND when no live
 * schedule has it, NOT_OWNER, LOADING or DRAINING when this tracker does not serve its group, and what the store says.
 */
export class ScheduleControl {
  get(_name: ScheduleName): Promise<ShownSchedule> {
    return notYet();
  }

  /** Nothing fires any more; `changed` is false when it was suspended before. */
  suspend(_name: ScheduleName): Promise<ShownSchedule & { changed: boolean }> {
    return notYet();
  }

  /** Fires again, from now on. Throws NEVER_FIRES when it would not. */
  resume(_name: ScheduleName): Promise<ShownSchedule & { changed: boolean }> {
    return notYet();
  }

  /** Ends the schedule. The ids of the runs that go on, and of those that waited. */
  remove(_name: ScheduleName): Promise<{ running: string[]; cancelled: string[] }> {
    return notYet();
  }

  /** One run now. Throws INSTANCE_ID_CONFLICT when the id is that of something else, BACKLOG_FULL when too many wait. */
  trigger(_order: TriggerOrder): Promise<{ instanceId: string; waits: boolean }> {
    return notYet();
  }
}

function notYet(): Promise<never> {
  return Promise.reject(new LtsError('UNSUPPORTED', 'schedules are not served yet'));
}
