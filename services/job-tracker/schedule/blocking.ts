import type { SchedulePlan } from '../../../shared/schedule/schedule-plan.js';
import type { GuardedRun } from '../queue/queue-store.js';
import { isByHand } from '../queue/task-key.js';

/** A live run of a schedule that limits how many live at once. */
export interface LiveRun extends Pick<GuardedRun, 'id' | 'taskKey' | 'stands'> {
  /** Whether a worker has it. */
  begun: boolean;
}

/** A run that is to end so for the sake of another one, which the message names. CANCELLED: also when a worker has it. */
export interface GivesWay {
  id: string;
  state: 'FAILED' | 'DISCARDED' | 'CANCELLED';
  message: string;
}

/** A run by its id and its time. */
export interface NamedRun {
  id: string;
  scheduledAt: number;
}

/** What becomes of a new run. */
export type Meeting =
  | { does: 'run' }
  /** It waits until others have ended, some of which are to do so now. */
  | { does: 'hold'; giveWay: GivesWay[] }
  | { does: 'discard'; message: string };

/** How a fire meets the live runs of its schedule, oldest first. */
export function meet({ strategy, limit, queue }: SchedulePlan['blocking'], live: readonly LiveRun[], newRun: NamedRun): Meeting {
  const [first] = live;
  if (limit === 0 || first === undefined || live.length < limit) return { does: 'run' };
  switch (strategy) {
    case 'SERIAL': {
      const held = live.filter(({ stands }) => stands === 'held').length;
      if (held < queue) return { does: 'hold', giveWay: [] };
      return { does: 'discard', message: `the queue is full: ${held} of ${queue} wait behind run ${first.id}` };
    }
    case 'DISCARD_LATER': {
      const onlyRetries = live.every(({ stands }) => stands === 'waiting');
      if (onlyRetries) return { does: 'hold', giveWay: live.map(({ id }) => ({ id, state: 'FAILED', message: `its retry gave way to run ${told(newRun)}` })) };
      return { does: 'discard', message: `run ${first.id} still ${first.stands === 'active' && !first.begun ? 'waits for a worker' : 'goes'}` };
    }
    case 'COVER_EARLY':
      return {
        does: 'hold',
        // Somebody has asked for a run by hand: it waits until it goes.
        giveWay: live.filter(({ stands, taskKey }) => stands !== 'held' || !isByHand(taskKey)).map(({ id, stands }) => ({ id, state: stands === 'held' ? 'DISCARDED' : 'CANCELLED', message: coveredBy(newRun) })),
      };
    case 'CONCURRENT':
      return { does: 'discard', message: `${live.length} runs still go, the limit is ${limit}` };
  }
}

/** Why a run is over that was covered. */
export function coveredBy(run: NamedRun): string {
  return `covered by run ${told(run)}`;
}

/** The run for people. */
export function told({ id, scheduledAt }: NamedRun): string {
  return `${id} of ${new Date(scheduledAt).toISOString()}`;
}
