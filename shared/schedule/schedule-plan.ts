import { LtsError } from '../errors/lts-error.js';
import type { Job, Job__Output } from '../grpc/generated/lts/v1/Job.js';
import { bounded } from './bounded.js';
import { cron, type CronDialect, type GapPolicy, type OverlapPolicy } from './cron.js';
import { dailyWindow } from './daily-window.js';
import { grid } from './grid.js';
import { formatInstant } from './instant.js';
import { LruCache } from './lru-cache.js';
import { isSpread } from './spread.js';
import type { Timetable } from './timetable.js';

/** When a schedule fires and what becomes of its fires. A plain value; times in milliseconds. */
export interface SchedulePlan {
  times: CronTimes | RepeatTimes | WindowTimes;
  /** Nothing fires before and after; 0: no such bound. */
  startAt: number;
  endAt: number;
  /** How many runs in all; -1: without end. */
  count: number;
  misfire: { action: 'SKIP' | 'FIRE_ONCE' | 'FIRE_ALL'; threshold: number; newest: number; window: number };
  /** `limit`: how many live at once, 0 any number. `queue`: how many more wait for them. */
  blocking: { strategy: 'SERIAL' | 'DISCARD_LATER' | 'COVER_EARLY' | 'CONCURRENT'; limit: number; queue: number };
}

interface CronTimes {
  kind: 'cron';
  expression: string;
  dialect: CronDialect;
  zone: string;
  gap: GapPolicy;
  overlap: OverlapPolicy;
}

interface RepeatTimes {
  kind: 'repeat';
  first: number;
  interval: number;
  /** From the end of a run to the next fire, in place of a grid. */
  fixedDelay: boolean;
}

interface WindowTimes {
  kind: 'window';
  from: number;
  to: number;
  every: number;
  weekdays: number[];
  zone: string;
}

/** The fields of a job that make it a schedule, as they are decoded or as a user wrote them. */
type ScheduleFields = Pick<Job | Job__Output, 'node_group' | 'task_id' | 'cron_expression' | 'cron_dialect' | 'time_zone' | 'dst_gap' | 'dst_overlap' | 'trigger_time' | 'repeat_interval' | 'repeat_count' | 'repeat_mode' | 'rely_on_prev_cycle' | 'misfire_policy' | 'blocking_policy' | 'start_time' | 'end_time' | 'daily_window'>;

/**
 * A schedule without workers makes a row at each of its times, of those that it discards too: a slip of the keyboard, 1
 * for 1000, must not fill a store. Ten times a second is the most that one schedule may ask of it for ever.
 */
const shortestIntervalMs = 100;
const defaultThresholdMs = 60_000;
const defaultNewest = 100;

/**
 * The plan of a job whose fields are right each by itself; undefined: it is a one-shot. Throws INVALID_ARGUMENT for what
 * does not go together, and what the cron expression and the zone are refused with.
 *
 * @param now a repeat without a time begins now, a fixed delay not before
 */
export function planOf(job: ScheduleFields, now: number): SchedulePlan | undefined {
  const isCron = (job.cron_expression ?? '') !== '';
  const interval = Number(job.repeat_interval ?? 0);
  const count = job.repeat_count ?? 0;
  if (!isCron && interval === 0 && count === 0 && !job.daily_window) {
    refuseLeftovers(job);
    return undefined;
  }
  if (isCron) checkCron(job, interval, count);
  else checkRepeat(job, interval, count);
  const startAt = Number(job.start_time ?? 0);
  const endAt = Number(job.end_time ?? 0);
  if (endAt !== 0 && endAt < startAt) refuse(`end_time is ${endAt}, before start_time ${startAt}; nothing would ever fire, give a later end`);
  const plan: SchedulePlan = {
    times: isCron ? cronTimes(job) : job.daily_window ? windowTimes(job, interval) : repeatTimes(job, interval, now),
    // A cron does not use trigger_time, a repeat has it in its grid.
    startAt: job.daily_window ? Math.max(startAt, Number(job.trigger_time ?? 0)) : startAt,
    endAt,
    count: isCron || count === 0 ? -1 : count,
    misfire: misfireOf(job),
    blocking: blockingOf(job),
  };
  // Of what is in its bounds alone, so that the answer does not depend on the time of asking.
  if (timetableOf(plan, spreadOf(job.node_group ?? '', job.task_id ?? '')).next(0) === undefined) refuse(neverFires(job, plan));
  return plan;
}

/** The plan as it is stored. */
export function planToText(plan: SchedulePlan): string {
  return JSON.stringify(plan);
}

/** The plan of what `planToText` gave. */
export function planFromText(text: string): SchedulePlan {
  return JSON.parse(text) as SchedulePlan;
}

const cronsInMemory = 10_000;
/** Of many schedules with few distinct expressions each expression is in memory once. */
const crons = new LruCache<Timetable>(cronsInMemory);

/**
 * The scheduled times of a plan. Of a fixed delay only the first ones are sure: each further one follows from an end.
 *
 * @param spread what H and the start of @every are spread by: the same for a schedule on every node
 */
export function timetableOf({ times, startAt, endAt }: SchedulePlan, spread: string): Timetable {
  return bounded(unbounded(times, spread), startAt === 0 ? undefined : startAt, endAt === 0 ? undefined : endAt);
}

/** By what the times of a schedule are spread. */
export function spreadOf(nodeGroup: string, taskId: string): string {
  return `${nodeGroup}/${taskId}`;
}

function unbounded(times: SchedulePlan['times'], spread: string): Timetable {
  if (times.kind === 'repeat') return grid(times.first, times.interval);
  if (times.kind === 'window') return dailyWindow(times);
  const { expression, dialect, zone, gap, overlap } = times;
  const own = isSpread(expression) ? spread : '';
  const key = [expression, dialect, zone, gap, overlap, own].join('\n');
  return crons.get(key) ?? crons.set(key, cron({ expression, dialect, zone, gap, overlap, spread: own }));
}

/** What the fields say of a cron expression. */
export function cronTimes(job: Pick<ScheduleFields, 'cron_expression' | 'cron_dialect' | 'time_zone' | 'dst_gap' | 'dst_overlap'>): CronTimes {
  return {
    kind: 'cron',
    expression: job.cron_expression ?? '',
    dialect: chosen(job.cron_dialect, 'CRON_DIALECT_', 'AUTO'),
    zone: job.time_zone ?? '',
    gap: chosen(job.dst_gap, 'DST_GAP_POLICY_', 'DEFAULT'),
    overlap: chosen(job.dst_overlap, 'DST_OVERLAP_POLICY_', 'DEFAULT'),
  };
}

function repeatTimes(job: ScheduleFields, interval: number, now: number): RepeatTimes {
  const first = Number(job.trigger_time ?? 0) || Number(job.start_time ?? 0);
  const fixedDelay = job.repeat_mode === 'REPEAT_MODE_FIXED_DELAY';
  // A grid keeps its beginning, also when that is past.
  return { kind: 'repeat', first: fixedDelay ? Math.max(first, now) : first || now, interval, fixedDelay };
}

function windowTimes(job: ScheduleFields, every: number): WindowTimes {
  const { from, to, weekdays } = job.daily_window ?? {};
  if (!from) refuse('daily_window.from is not given; give the first time of the day, HH:MM');
  if (!to) refuse('daily_window.to is not given; give the last time of the day, HH:MM');
  return { kind: 'window', from: timeOfDay(from), to: timeOfDay(to), every, weekdays: [...(weekdays ?? [])], zone: job.time_zone ?? '' };
}

function misfireOf({ misfire_policy: policy }: ScheduleFields): SchedulePlan['misfire'] {
  const action = chosen<SchedulePlan['misfire']['action']>(policy?.action, 'MISFIRE_ACTION_', 'FIRE_ONCE');
  const given = (['newest', 'window'] as const).find((field) => isSet(policy?.[field]));
  if (given !== undefined && action !== 'FIRE_ALL') refuse(`misfire_policy.${given} is ${Number(policy?.[given])} with the action ${action}; only FIRE_ALL has it, leave it out or give that action`);
  return {
    action,
    threshold: Number(policy?.threshold ?? defaultThresholdMs),
    newest: policy?.newest || defaultNewest,
    window: Number(policy?.window ?? 0),
  };
}

function blockingOf({ blocking_policy: policy, rely_on_prev_cycle: rely }: ScheduleFields): SchedulePlan['blocking'] {
  const given = policy?.limit ?? 0;
  const strategy = chosen<SchedulePlan['blocking']['strategy']>(policy?.strategy, 'BLOCKING_STRATEGY_', rely === false ? 'CONCURRENT' : 'DISCARD_LATER');
  if (strategy === 'CONCURRENT' && rely !== false) refuse('blocking_policy.strategy is CONCURRENT while rely_on_prev_cycle is true, which means never two runs at once; set rely_on_prev_cycle to false, or give another strategy');
  if (strategy !== 'CONCURRENT' && rely === false) refuse(`blocking_policy.strategy is ${strategy} while rely_on_prev_cycle is false, with which runs overlap; set rely_on_prev_cycle to true, or the strategy to CONCURRENT`);
  if (given > 0 && strategy !== 'SERIAL' && strategy !== 'CONCURRENT') refuse(`blocking_policy.limit is ${given} with the strategy ${strategy}; only SERIAL and CONCURRENT have a limit`);
  return { strategy, limit: strategy === 'CONCURRENT' ? given : 1, queue: strategy === 'SERIAL' ? given || 1 : 0 };
}

function checkCron(job: ScheduleFields, interval: number, count: number): void {
  const { cron_expression: expression } = job;
  if (interval !== 0) refuse(`both cron_expression "${expression}" and repeat_interval ${interval} are given; give one of them`);
  if (count !== 0) refuse(`both cron_expression "${expression}" and repeat_count ${count} are given; a cron ends at end_time, leave repeat_count out`);
  if (job.daily_window) refuse(`both cron_expression "${expression}" and daily_window are given; a daily_window goes with repeat_interval`);
  if (isSet(job.repeat_mode)) refuse(`repeat_mode is ${job.repeat_mode} with cron_expression "${expression}"; it goes with repeat_interval`);
}

function checkRepeat(job: ScheduleFields, interval: number, count: number): void {
  refuseCronOptions(job);
  const delay = job.repeat_mode === 'REPEAT_MODE_FIXED_DELAY';
  if (job.daily_window) {
    if (interval === 0) refuse('daily_window is given without repeat_interval; give the interval at which it fires within the window');
    if (interval < 1_000) refuse(`repeat_interval is ${interval} with a daily_window; give 1000 milliseconds or more`);
    if (delay) refuse('repeat_mode is FIXED_DELAY with a daily_window; leave repeat_mode out, a window fires at fixed times');
    return;
  }
  if (interval === 0) refuse(`repeat_count is ${count} without repeat_interval; give the interval in milliseconds`);
  if (count === 0) refuse(`repeat_interval is ${interval} and repeat_count is 0 or left out; give how many runs there are in all, -1 without end`);
  if ((job.time_zone ?? '') !== '') refuse(`time_zone is "${job.time_zone}" with a repeat, which follows real time; it goes with cron_expression and daily_window`);
  if (delay && job.rely_on_prev_cycle === false) refuse('repeat_mode is FIXED_DELAY while rely_on_prev_cycle is false; a delay counts from the end of the run before, so leave rely_on_prev_cycle out');
  if (interval < shortestIntervalMs) refuse(`repeat_interval is ${interval}; give ${shortestIntervalMs} milliseconds or more, and let one run do what is to be done more often`);
}

/** Fields of a schedule in a job that is none: its user meant something else. */
function refuseLeftovers(job: ScheduleFields): void {
  refuseCronOptions(job);
  const given = (['time_zone', 'repeat_mode', 'misfire_policy', 'blocking_policy', 'start_time', 'end_time'] as const).find((field) => isSet(job[field]));
  if (given !== undefined) refuse(`${given} is given, but the job is no schedule; add cron_expression, or repeat_interval with repeat_count, or leave it out`);
  // true is the default, which clients may fill in.
  if (job.rely_on_prev_cycle === false) refuse('rely_on_prev_cycle is false, but the job is no schedule and has no run before; add cron_expression, or repeat_interval with repeat_count, or leave it out');
}

function refuseCronOptions(job: ScheduleFields): void {
  const given = (['cron_dialect', 'dst_gap', 'dst_overlap'] as const).find((field) => isSet(job[field]));
  if (given !== undefined) refuse(`${given} is ${job[given]} without cron_expression; give the expression, or leave it out`);
}

function isSet(value: unknown): boolean {
  if (typeof value === 'string') return value !== '' && !value.endsWith('_UNSPECIFIED');
  return value !== undefined && value !== null && Number(value) !== 0;
}

function neverFires(job: ScheduleFields, { times, endAt }: SchedulePlan): string {
  const bounds = isSet(job.start_time) || isSet(job.end_time) ? ' between start_time and end_time' : '';
  if (times.kind === 'cron') return `cron_expression is "${times.expression}", which never fires${bounds}; look at it with "lts schedule preview"`;
  if (times.kind === 'repeat') return `the first fire would be at ${times.first} (${formatInstant(times.first)}), after end_time ${endAt} (${formatInstant(endAt)}); give a later end, or an earlier trigger_time`;
  return `daily_window never fires${bounds}; give a later end_time`;
}

/** The name of an enum of the contract without its prefix. */
function chosen<T extends string>(value: unknown, prefix: string, unset: T): T {
  return typeof value === 'string' && isSet(value) ? (value.slice(prefix.length) as T) : unset;
}

function timeOfDay(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(':').map(Number);
  return ((hours * 60 + minutes) * 60 + seconds) * 1_000;
}

function refuse(message: string): never {
  throw new LtsError('INVALID_ARGUMENT', message);
}
