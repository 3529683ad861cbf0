import type { Schedule__Output } from '../../shared/grpc/generated/lts/v1/Schedule.js';
import { formatInstant, formatLocal } from '../../shared/schedule/instant.js';
import { planOf, type SchedulePlan } from '../../shared/schedule/schedule-plan.js';
import { zoneOf } from '../../shared/schedule/zone.js';
import { formatDuration } from '../../shared/time/duration.js';
import { formatRecord, formatTime } from './output.js';
import { firesAt, scheduleState } from './schedules.js';

/** A schedule for people, with what takes effect where its job says nothing. */
export function describeSchedule(schedule: Schedule__Output): string {
  const { job } = schedule;
  const plan = job === null ? undefined : planOf(job, 0);
  const zone = job?.time_zone ?? '';
  return formatRecord([
    ['task id', job?.task_id ?? ''],
    ['group', job?.node_group ?? ''],
    ['type', job?.type ?? ''],
    ['state', scheduleState(schedule)],
    ['fires', firesAt(job)],
    ['clocks', plan?.times.kind === 'cron' && zone !== '' ? `gap ${plan.times.gap}, overlap ${plan.times.overlap}` : ''],
    ['rely on previous', job?.rely_on_prev_cycle === false ? 'no, runs may overlap' : 'yes, never two runs at once'],
    ['misfire', plan === undefined ? '' : misfireText(plan.misfire)],
    ['blocking', plan === undefined ? '' : blockingText(plan.blocking)],
    ['start', formatTime(job?.start_time ?? 0)],
    ['end', formatTime(job?.end_time ?? 0)],
    ['runs', schedule.ended_at === 0 ? schedule.fire_count : ''],
    ['last fire', fireTime(schedule.last_fire_time, zone)],
    ...schedule.next_fire_times.map((time, n): [string, string] => [n === 0 ? 'next fires' : '', fireTime(time, zone)]),
    ['created', formatTime(schedule.created_at)],
    ['updated', formatTime(schedule.updated_at)],
    ['ended', formatTime(schedule.ended_at)],
    ['schedule id', schedule.schedule_id],
  ]);
}

/** In the zone of the schedule and in UTC. */
function fireTime(at: number, zone: string): string {
  if (at === 0 || zone === '') return formatTime(at);
  return `${formatLocal(at, zoneOf(zone).at(at).offset)}  ${formatInstant(at) ?? ''}`;
}

function misfireText({ action, threshold, newest, window }: SchedulePlan['misfire']): string {
  const which = action === 'FIRE_ALL' ? `, the newest ${newest}${window === 0 ? '' : ` that are no older than ${formatDuration(window)}`}` : '';
  return `${action}${which}, when late by more than ${formatDuration(threshold)}`;
}

function blockingText({ strategy, limit, queue }: SchedulePlan['blocking']): string {
  if (strategy === 'SERIAL') return `SERIAL, ${queue} may wait`;
  if (strategy === 'CONCURRENT') return `CONCURRENT, ${limit === 0 ? 'any number' : `at most ${limit}`} at once`;
  return strategy;
}
