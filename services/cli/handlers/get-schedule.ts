import type { ValuesOf } from '../../../shared/config/settings.js';
import type { GetScheduleResponse__Output } from '../../../shared/grpc/generated/lts/v1/GetScheduleResponse.js';
import type { ResumeScheduleResponse__Output } from '../../../shared/grpc/generated/lts/v1/ResumeScheduleResponse.js';
import type { SuspendScheduleResponse__Output } from '../../../shared/grpc/generated/lts/v1/SuspendScheduleResponse.js';
import type { ClientHandler } from '../command.js';
import type { whichOptions } from '../command-options.js';
import { describeSchedule } from '../describe-schedule.js';
import { scheduleIn, scheduleName } from '../schedules.js';

type Which = ValuesOf<typeof whichOptions>;

/** lts schedule get: one schedule with the times to come. */
export const getSchedule: ClientHandler<Which> = async ({ options, target, output }) => {
  const name = scheduleName(options);
  const schedule = scheduleIn(await target.call<GetScheduleResponse__Output>((clients, call, answer) => clients.schedule.getSchedule(name, call, answer)));
  output.data(schedule, () => describeSchedule(schedule));
  return 'ok';
};

/** lts schedule suspend: it fires no more until it is resumed. */
export const suspendSchedule: ClientHandler<Which> = async ({ options, target, output }) => {
  const name = scheduleName(options);
  const answer = await target.call<SuspendScheduleResponse__Output>((clients, call, done) => clients.schedule.suspendSchedule(name, call, done));
  output.data(answer, () => describeSchedule(scheduleIn(answer)));
  if (!answer.changed) output.message('it was suspended before');
  return 'ok';
};

/** lts schedule resume: it fires again from now on. */
export const resumeSchedule: ClientHandler<Which> = async ({ options, target, output }) => {
  const name = scheduleName(options);
  const answer = await target.call<ResumeScheduleResponse__Output>((clients, call, done) => clients.schedule.resumeSchedule(name, call, done));
  output.data(answer, () => describeSchedule(scheduleIn(answer)));
  if (!answer.changed) output.message('it was active before');
  return 'ok';
};
