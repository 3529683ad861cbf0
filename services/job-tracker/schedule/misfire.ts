import type { SchedulePlan } from '../../../shared/schedule/schedule-plan.js';

/** From which index on the missed times, oldest first, are run after all; their number when none is. */
export function firstToRun(missed: readonly number[], { action, newest, window }: SchedulePlan['misfire'], now: number): number {
  switch (action) {
    case 'SKIP':
      return missed.length;
    case 'FIRE_ONCE':
      return Math.max(0, missed.length - 1);
    case 'FIRE_ALL': {
      const young = window === 0 ? 0 : missed.findIndex((time) => time >= now - window);
      return Math.max(young < 0 ? missed.length : young, missed.length - newest);
    }
  }
}
