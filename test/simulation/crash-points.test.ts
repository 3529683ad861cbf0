import { describe, expect, it } from 'vitest';
import type { CommitBatch, Outcome, Transition } from '../../services/job-tracker/queue/queue-store.js';
import { encodeJob } from '../../shared/grpc/job-codec.js';
import type { SimSchedule } from './schedules.js';
import { settingsOf } from './settings.js';
import { World } from './world.js';

const group = 'group-1';
const periodMs = 2_000;
const watchedMs = 40_000;
const startAgainMs = 1_500;
/** What is on its way when the watch ends. */
const settleMs = 20_000;

/** Between any two steps of a fire, and of what follows it. */
const points = [
  'before enroll is stored', 'after enroll is stored', 'before fire is stored', 'after fire is stored', 'before the task is sent', 'when the run begins', 'when the run ends', 'before finish is stored', 'after finish is stored',
  'before alter is stored', 'after alter is stored', 'before release is stored', 'after release is stored',
] as const;
type Point = (typeof points)[number];

type Kind = 'cron' | 'cron that may overlap' | 'repeat of ten' | 'fixed delay' | 'queue behind long runs';

/** The steps that come in the life of each kind. */
const kinds: Record<Kind, readonly Point[]> = {
  cron: points.slice(0, 9),
  'cron that may overlap': points.slice(0, 9),
  'repeat of ten': points.slice(0, 9),
  'fixed delay': points.slice(0, 11),
  'queue behind long runs': [...points.slice(0, 9), ...points.slice(11)],
};

const cases = Object.entries(kinds).flatMap(([kind, reached]) => reached.flatMap((point) => [1, 3].filter((nth) => nth === 1 || !point.includes('enroll')).map((nth) => ({ kind: kind as Kind, point, nth }))));

describe('the owner dies at a named point', () => {
  it.each(cases)('$kind, $point, time $nth: each scheduled time runs once', async ({ kind, point, nth }) => {
    const world = new World({ ...settingsOf(2), partitions: 1, groups: 1, workersPerGroup: 1, loadUntilMs: 0, stepMs: 0, storeHasClock: true });
    const { scheduler, history, db } = world;
    const hit = crashAt(world, point, nth);
    await scheduler.runUntil(3_000);
    world.clients[0]?.schedules.enroll(scheduleOf(kind, world.newId()));
    await scheduler.runUntil(watchedMs);
    expect(hit(), 'the point was reached').toBe(nth);
    const overdue = world.scheduleHistory.overdue(db.tables, world.storeWall.now() - startAgainMs);
    world.clients[0]?.schedules.endAll();
    await scheduler.runUntil(watchedMs + settleMs);
    history.check(db.tables, true);
    expect({ violations: history.violations, overdue }).toEqual({ violations: [], overdue: [] });

    const rows = [...db.tables.rows.values()];
    const ran = rows.filter(({ state, records }) => state === 'SUCCEEDED' && records.length === 1);
    const ended = rows.filter(({ state }) => state !== 'SUCCEEDED');
    expect(new Set(rows.map(({ scheduledAt }) => scheduledAt)).size).toBe(rows.length);
    if (kind === 'repeat of ten') expect(ran).toHaveLength(10);
    else expect(ran.length).toBeGreaterThanOrEqual(kind === 'queue behind long runs' ? 4 : 8);
    // Of the last ones some end with their schedule.
    expect(ended.filter(({ state }) => state !== 'CANCELLED').map(({ state }) => state)).toEqual([]);
  });
});

/** Kills the owner when the point is reached for the n-th time, and starts it again; gives how often it was reached. */
function crashAt(world: World, point: Point, nth: number): () => number {
  let reached = 0;
  const reach = (at: Point): boolean => {
    if (at !== point || reached === nth || ++reached < nth) return false;
    const site = world.trackers.find(({ nodeId }) => nodeId === world.db.tables.owners[0]?.nodeId);
    if (site?.running === undefined) throw new Error('nobody owns the partition');
    site.running.crash(false);
    site.running = undefined;
    world.scheduler.after(startAgainMs, 'the owner starts again', () => world.startTracker(site));
    return true;
  };
  const commit = world.db.commit.bind(world.db);
  world.db.commit = (batch: CommitBatch): Outcome[] => {
    const kindsOf = new Set(batch.transitions.map(({ kind }) => kind));
    const step = (when: 'before' | 'after') => (kind: Transition['kind']): boolean => reach(`${when} ${kind} is stored` as Point);
    if ([...kindsOf].some(step('before'))) throw new Error('the owner died before');
    const outcomes = commit(batch);
    [...kindsOf].some(step('after'));
    return outcomes;
  };
  const { history } = world;
  const [sent, began, ended] = [history.taskSent.bind(history), history.began.bind(history), history.ended.bind(history)];
  history.taskSent = (...args) => {
    reach('before the task is sent');
    sent(...args);
  };
  history.began = (...args) => {
    began(...args);
    reach('when the run begins');
  };
  history.ended = (...args) => {
    ended(...args);
    reach('when the run ends');
  };
  return () => reached;
}

function scheduleOf(kind: Kind, id: string): SimSchedule {
  const times = kind.startsWith('cron') ? 'cron' : kind === 'fixed delay' ? 'delay' : 'grid';
  const count = kind === 'repeat of ten' ? 10 : -1;
  const overlap = kind === 'cron that may overlap';
  const strategy = overlap ? 'CONCURRENT' : 'SERIAL';
  const bytes = encodeJob({
    instance_id: id,
    task_id: 'cycle',
    node_group: group,
    ...(times === 'cron' ? { cron_expression: '*/2 * * * * ?', cron_dialect: 'CRON_DIALECT_QUARTZ' } : { repeat_interval: periodMs, repeat_count: count }),
    ...(times === 'delay' ? { repeat_mode: 'REPEAT_MODE_FIXED_DELAY' } : {}),
    ...(overlap ? { rely_on_prev_cycle: false } : {}),
    blocking_policy: { strategy: `BLOCKING_STRATEGY_${strategy}`, limit: overlap ? 0 : 20 },
  });
  const durationMs = kind === 'queue behind long runs' ? 3_000 : 100;
  return {
    id, taskId: 'cycle', nodeGroup: group, bytes, atMostOnce: false, needFeedback: false, periodMs, times, count, misfire: { action: 'FIRE_ONCE', threshold: 60_000, newest: 100, window: 0 },
    blocking: { strategy, limit: overlap ? 0 : 1 }, plans: [{ durationMs, outcome: 'SUCCESS', retryInMs: 0, stubborn: false }],
  };
}
