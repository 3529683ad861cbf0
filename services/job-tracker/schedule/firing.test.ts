import { expect, it } from 'vitest';
import { checkJob } from '../../../shared/job/check-job.js';
import { type Logger, silentLogger } from '../../../shared/log/logger.js';
import { planOf, planToText } from '../../../shared/schedule/schedule-plan.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import { Backlog } from '../queue/backlog.js';
import type { CommitPipeline, Settle } from '../queue/commit-pipeline.js';
import { OwnedGroups } from '../queue/owned-groups.js';
import type { Fire, FireRun, ScheduleRow } from '../queue/queue-store.js';
import { runKey } from '../queue/task-key.js';
import { Firing } from './firing.js';
import { GuardedRuns } from './guarded-runs.js';
import { PlanCache } from './plan-cache.js';

const clock = new VirtualClock();
const lines: unknown[] = [];
const log: Logger = { ...silentLogger, warn: (event, fields) => void lines.push([event, fields]) };
const policy = { maxRetryTimes: 0, timeoutMs: 0, maxLost: 3, failOnLoss: false };
const scheduled = { cron_expression: '* * * * *' };

/** A firing whose fires wait for the test, and a schedule that is due, beside a run by hand that is on its way. */
function bench(byHand = true) {
  const plan = planOf(checkJob({ task_id: 't', node_group: 'g', ...scheduled }), clock.now());
  if (plan === undefined) throw new Error('no plan');
  const groups = new OwnedGroups(100);
  const load = (): void => {
    groups.adopt({ partition: 0, epoch: 1 }, { groups: [], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } });
  };
  load();
  const owned = groups.partitions.get(0);
  if (owned === undefined) throw new Error('not owned');
  const stored: { fire: Fire; settle: Settle }[] = [];
  const pipeline = { add: (fire: Fire, settle: Settle) => void stored.push({ fire, settle }) } as unknown as CommitPipeline;
  const dispatcher = { reserve: () => undefined, enter: () => undefined } as never;
  const firing = new Firing({ groups, pipeline, dispatcher, settlement: {} as never, guarded: new GuardedRuns(() => undefined), free: { mayBe: () => false } as never, plans: new PlanCache(), backlog: new Backlog(1_000), clock, newId: () => 'by-time', log });
  const row: ScheduleRow & { nextAt: number } = {
    sched: 1, version: 1, id: 's', nodeGroup: 'g', taskId: 't', type: 'default', priority: 100, needFeedback: false, submitNodeGroup: '', policy, plan: planToText(plan),
    state: 'ACTIVE', nextAt: clock.now(), fires: 0, lastAt: undefined, createdAt: 0, updatedAt: 0, job: undefined,
  };
  const run: FireRun = { id: 'by-hand', taskKey: runKey('t', true, 'by-hand'), scheduledAt: clock.now(), held: false, counts: false };
  if (byHand) firing.store(owned, row, 1, { kind: 'fire', partition: 0, nodeGroup: 'g', sched: 1, version: 1, from: undefined, nextAt: undefined, over: false, at: clock.now(), runs: [run], passed: [] }, () => undefined);
  const fired: unknown[] = [];
  if (byHand) firing.fire(owned, row, (...all) => fired.push(all));
  return { stored, fired, load, firing, owned, row, settle: (applied: boolean) => stored[0]?.settle({ kind: 'fire', applied, again: false, runs: applied ? [{ seq: 9, placement: 'ready' }] : [] }, undefined) };
}

it('decides on a run that is on its way once it is known whether it came: no time is discarded for one that never lived', () => {
  const { stored, settle } = bench();
  expect(stored).toHaveLength(1);
  settle(false);
  expect(stored[1]?.fire).toMatchObject({ runs: [{ id: 'by-time' }], passed: [] });
});

it('discards the time when that run has come', () => {
  const { stored, settle } = bench();
  settle(true);
  expect(stored[1]?.fire).toMatchObject({ runs: [], passed: [{ state: 'DISCARDED', message: 'run by-hand still waits for a worker' }] });
});

it('leaves the fire to whoever loads the partition anew meanwhile', () => {
  const { stored, fired, load, settle } = bench();
  load();
  settle(false);
  expect(stored).toHaveLength(1);
  expect(fired).toEqual([[undefined, undefined, undefined]]);
});

it('tells in one line of the log what was missed, once that is stored', () => {
  const { firing, owned, row, stored } = bench(false);
  clock.stand(10 * 60_000);
  const from = row.nextAt;
  firing.fire(owned, row, () => undefined);
  expect(lines).toEqual([]);
  stored.at(-1)?.settle({ kind: 'fire', applied: true, again: false, runs: [{ seq: 10, placement: 'ready' }] }, undefined);
  const to = stored.at(-1)?.fire.passed.at(-1)?.scheduledAt ?? 0;
  expect(lines).toEqual([['schedule.missed', { group: 'g', task: 't', times: stored.at(-1)?.fire.passed.length, from: new Date(from).toISOString(), to: new Date(to).toISOString() }]]);
});
