import type { PastSchedule } from '../queue-store.js';

/** What one step of the search for a past schedule has found; of its times the newest ones. */
export interface PastStep extends Pick<PastSchedule, 'lastAt' | 'answeredAt'> {
  schedule: Pick<PastSchedule, 'id' | 'endedAt' | 'job'> | undefined;
  /** Where the next step goes on. */
  nextBefore: number | undefined;
}

/** Steps of one search. */
const mostSteps = 40;

/** Goes from the newest rows down until all is found. No index leads there, for which every run would pay. */
export async function searchPast(step: (before: number) => Promise<PastStep>): Promise<Omit<PastSchedule, 'nodeGroup' | 'taskId'> | undefined> {
  let found: PastStep = { schedule: undefined, lastAt: undefined, answeredAt: undefined, nextBefore: Number.MAX_SAFE_INTEGER };
  for (let steps = 0; steps < mostSteps && found.nextBefore !== undefined && (found.schedule === undefined || found.lastAt === undefined); steps++) {
    const { schedule, lastAt, answeredAt, nextBefore } = await step(found.nextBefore);
    found = { schedule: found.schedule ?? schedule, lastAt: found.lastAt ?? lastAt, answeredAt: found.answeredAt ?? answeredAt, nextBefore };
  }
  const { schedule, lastAt, answeredAt } = found;
  return schedule === undefined ? undefined : { ...schedule, lastAt, answeredAt };
}
