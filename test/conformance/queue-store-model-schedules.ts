import fc from 'fast-check';
import { newId } from '../../shared/ids.js';
import type { Alter, Bounded, FireRun, LeftRuns, PassedTime, Transition } from '../../services/job-tracker/queue/queue-store.js';
import { runKey } from '../../services/job-tracker/queue/task-key.js';
import { alter, endRuns, enroll, fire, t0, worker } from './queue-store-bench.js';
import type { ModelSchedule } from './queue-store-reference-schedules.js';

/** One random step of a schedule. */
export type ScheduleStep =
  | { do: 'enroll'; task: number; nextIn: number | undefined; replace: boolean; owes: boolean; clientId: boolean; late: boolean }
  | { do: 'fire'; task: number; runs: RunStep[]; missed: number; byHand: boolean; wrong: boolean; taken: boolean; nextIn: number | undefined; over: boolean }
  | { do: 'alter'; task: number; change: Alter['change']; version: 'right' | 'wrong' | 'none'; nextIn: number | undefined; bound: Bounded['bound'] }
  | { do: 'endRuns'; task: number; by: LeftRuns['by']; most: number };

interface RunStep {
  held: boolean;
  counts: boolean;
  start: boolean;
  guarded: boolean;
}

/** What a step is applied to. */
export interface ScheduleContext {
  nodeGroup: string;
  now: number;
  /** The live schedule of a task. */
  live(taskId: string): ModelSchedule | undefined;
  /** The store's number of a schedule. */
  schedOf(live: ModelSchedule | undefined): number;
  /** An id that is known. */
  takenId: string | undefined;
  /** Never twice the same. */
  time(): number;
}

/** One-shot jobs have the tasks up to 3. */
const task = fc.constantFrom(3, 4, 4, 4);
const rarely = fc.nat({ max: 9 }).map((n) => n === 0);
const nextIn = fc.constantFrom(undefined, 5, 5, 5, 40);

/** Of an alter, or of a cancel by task. */
export const bound: fc.Arbitrary<Bounded['bound']> = fc.constantFrom(undefined, { most: 1, halted: true }, { most: 2, halted: true }, { most: 2, halted: true }, { most: 2, halted: false });

export const scheduleStep: fc.Arbitrary<ScheduleStep> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('enroll' as const), task, nextIn, replace: fc.boolean(), owes: fc.boolean(), clientId: fc.boolean(), late: rarely }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('fire' as const), task, missed: fc.constantFrom(0, 0, 2), byHand: fc.boolean(), wrong: rarely, taken: rarely, nextIn, over: rarely,
      runs: fc.array(fc.record({ held: fc.boolean(), counts: fc.boolean(), start: fc.boolean(), guarded: fc.boolean() }), { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('alter' as const), task, change: fc.constantFrom('suspend' as const, 'suspend' as const, 'suspend' as const, 'resume' as const, 'resume' as const, 'resume' as const, 'next' as const, 'next' as const, 'delete' as const),
      version: fc.constantFrom('right' as const, 'right' as const, 'right' as const, 'wrong' as const, 'none' as const), nextIn, bound,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('endRuns' as const), task, by: fc.constantFrom('suspend' as const, 'suspend' as const, 'delete' as const, 'cancel' as const), most: fc.constantFrom(1, 2) }) },
);

export function scheduleTransition(step: ScheduleStep, context: ScheduleContext): Transition {
  const { nodeGroup, now } = context;
  const taskId = `task-${step.task}`;
  const live = context.live(taskId);
  const nextAt = 'nextIn' in step && step.nextIn !== undefined ? now + step.nextIn : undefined;
  // There has to be a schedule first; sometimes there is none.
  const needsOne = step.do === 'fire' ? !step.wrong : step.do === 'alter' && step.version === 'right';
  if (live === undefined && needsOne) return enroll({ nodeGroup, taskId, nextAt, createdAt: now, plan: 'the first' });
  switch (step.do) {
    case 'enroll':
      return enroll({
        ...(step.late ? { id: `00000000-0000-7${newId().slice(15)}`, fromFailStore: true } : {}),
        nodeGroup, taskId, nextAt, createdAt: now, replaceOnExist: step.replace, needFeedback: step.owes, submitNodeGroup: `${nodeGroup}-clients`, clientId: step.clientId,
        plan: `since ${now}`,
      });
    case 'fire': {
      const named = { sched: context.schedOf(live), version: (live?.version ?? 1) + (step.wrong ? 1 : 0) };
      const runs = step.runs.map((run) => runOf(run, taskId, step.byHand, context));
      const [first] = runs;
      if (step.taken && step.byHand && first !== undefined && context.takenId !== undefined) first.id = context.takenId;
      const passed = Array.from({ length: step.missed }, () => passedOf(taskId, context));
      return fire(named, { nodeGroup, at: now, from: step.byHand ? undefined : (live?.nextAt ?? now), nextAt, over: step.over && !step.byHand, runs, passed });
    }
    case 'alter': {
      const version = step.version === 'none' ? undefined : (live?.version ?? 1) + (step.version === 'wrong' ? 1 : 0);
      return alter(step.change, { nodeGroup, taskId, at: now, nextAt, version, bound: step.bound });
    }
    case 'endRuns':
      return endRuns(step.by, { nodeGroup, taskId, at: now, most: step.most });
  }
}

function runOf({ held, counts, start, guarded }: RunStep, taskId: string, byHand: boolean, context: ScheduleContext): FireRun {
  const id = newId();
  const scheduledAt = t0 + context.time();
  return {
    id, taskKey: runKey(taskId, guarded, byHand ? id : scheduledAt), scheduledAt, held, counts: counts && !byHand, start: start ? { worker, fence: 1 } : undefined,
  };
}

function passedOf(taskId: string, context: ScheduleContext): PassedTime {
  const scheduledAt = t0 + context.time();
  return { id: newId(), taskKey: runKey(taskId, true, scheduledAt), scheduledAt, state: scheduledAt % 2 === 0 ? 'MISSED' : 'DISCARDED', message: 'passed' };
}
