import { LruCache } from '../../../shared/schedule/lru-cache.js';
import { planFromText, type SchedulePlan, spreadOf, timetableOf } from '../../../shared/schedule/schedule-plan.js';
import type { Timetable } from '../../../shared/schedule/timetable.js';
import type { ScheduleRow } from '../queue/queue-store.js';

/** A plan that is ready for use. */
export interface ReadPlan {
  plan: SchedulePlan;
  timetable: Timetable;
}

const plansInMemory = 20_000;

/** The plans of schedules, read once as long as they are in use. */
export class PlanCache {
  readonly #plans = new LruCache<ReadPlan>(plansInMemory);

  of({ plan: text, nodeGroup, taskId }: Pick<ScheduleRow, 'plan' | 'nodeGroup' | 'taskId'>): ReadPlan {
    const key = `${nodeGroup}/${taskId} ${text}`;
    const known = this.#plans.get(key);
    if (known !== undefined) return known;
    const plan = planFromText(text);
    return this.#plans.set(key, { plan, timetable: timetableOf(plan, spreadOf(nodeGroup, taskId)) });
  }
}
