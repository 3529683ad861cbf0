import type { ValuesOf } from '../../../shared/config/settings.js';
import type { GetScheduleResponse__Output } from '../../../shared/grpc/generated/lts/v1/GetScheduleResponse.js';
import type { ResumeScheduleResponse__Output } from '../../../shared/grpc/generated/lts/v1/ResumeScheduleResponse.js';
import type { Schedule__Output } from '../../../shared/grpc/generated/lts/v1/Schedule.js';
import type { SuspendScheduleResponse__Output } from '../../../shared/grpc/generated/lts/v1/SuspendScheduleResponse.js';
import type { ClientHandler } from '../command.js';
import type { whichOptions } from '../command-options.js';
import { formatRecord, formatTime, shortName } from '../output.js';
import { firesAt, scheduleIn, scheduleName, scheduleState } from '../schedules.js';

type Which = ValuesOf<typeof whichOptions>;

/** lts schedule get: one schedule with the times to come. */
export const getSchedule: ClientHandler<Which> = async ({ options, target, output }) => {
  const name = scheduleName(options);
  const schedule = scheduleIn(await target.call<GetScheduleResponse__Output>((clients, call, answer) => clients.schedule.getSchedule(name, call, answer)));
  output.data(schedule, () => describe(schedule));
  return 'ok';
};

/** lts schedule suspend: it fires no more until it is resumed. */
export const suspendSchedule: ClientHandler<Which> = async ({ options, target, output }) => {
  const name = scheduleName(options);
  const answer = await target.call<SuspendScheduleResponse__Output>((clients, call, done) => clients.schedule.suspendSchedule(name, call, done));
  output.data(answer, () => describe(scheduleIn(answer)));
  if (!answer.changed) output.message('it was suspended before');
  return 'ok';
};

/** lts schedule resume: it fires again from now on. */
export const resumeSchedule: ClientHandler<Which> = async ({ options, target, output }) => {
  const name = scheduleName(options);
  const answer = await target.call<ResumeScheduleResponse__Output>((clients, call, done) => clients.schedule.resumeSchedule(name, call, done));
  output.data(answer, () => describe(scheduleIn(answer)));
  if (!answer.changed) output.message('it was active before');
  return 'ok';
};

function describe(schedule: Schedule__Output): string {
  const { job } = schedule;
  return formatRecord([
    ['task id', job?.task_id ?? ''],
    ['group', job?.node_group ?? ''],
    ['type', job?.type ?? ''],
    ['state', scheduleState(schedule)],
    ['fires', firesAt(job)],
    ['rely on previous', job?.rely_on_prev_cycle === false ? 'no, runs may overlap' : ''],
    ['misfire', shortName(job?.misfire_policy?.action, 'MISFIRE_ACTION')],
    ['blocking', shortName(job?.blocking_policy?.strategy, 'BLOCKING_STRATEGY')],
    ['start', formatTime(job?.start_time ?? 0)],
    ['end', formatTime(job?.end_time ?? 0)],
    ['runs', schedule.fire_count],
    ['last fire', formatTime(schedule.last_fire_time)],
    ...schedule.next_fire_times.map((time, n): [string, string] => [n === 0 ? 'next fires' : '', formatTime(time)]),
    ['created', formatTime(schedule.created_at)],
    ['updated', formatTime(schedule.updated_at)],
    ['schedule id', schedule.schedule_id],
  ]);
}
