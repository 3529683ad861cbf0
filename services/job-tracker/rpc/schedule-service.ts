import type { UntypedHandleCall } from '@grpc/grpc-js';
import type { DeleteScheduleRequest__Output } from '../../../shared/grpc/generated/lts/v1/DeleteScheduleRequest.js';
import type { GetScheduleRequest__Output } from '../../../shared/grpc/generated/lts/v1/GetScheduleRequest.js';
import type { ListSchedulesRequest__Output } from '../../../shared/grpc/generated/lts/v1/ListSchedulesRequest.js';
import type { ListSchedulesResponse } from '../../../shared/grpc/generated/lts/v1/ListSchedulesResponse.js';
import type { PreviewScheduleRequest__Output } from '../../../shared/grpc/generated/lts/v1/PreviewScheduleRequest.js';
import type { PreviewScheduleResponse } from '../../../shared/grpc/generated/lts/v1/PreviewScheduleResponse.js';
import type { TriggerScheduleRequest__Output } from '../../../shared/grpc/generated/lts/v1/TriggerScheduleRequest.js';
import type { Handlers } from '../../../shared/grpc/handlers.js';
import { checkPreview, checkScheduleList, checkScheduleName, checkTrigger } from '../../../shared/job/check-schedule-request.js';
import { cron } from '../../../shared/schedule/cron.js';
import { previewFires } from '../../../shared/schedule/preview.js';
import { cronTimes } from '../../../shared/schedule/schedule-plan.js';
import type { Clock } from '../../../shared/time/clock.js';
import { mostNamed } from '../admit/cancellation.js';
import type { Ownership } from '../lead/ownership.js';
import type { ScheduleQueries } from '../queue/queue-store.js';
import type { ScheduleControl, ScheduleName } from '../schedule/schedule-control.js';
import { fromPageToken, toPageToken, toPastSchedule, toSchedule } from './schedule-views.js';

/** What the service is drawn from. */
export interface ScheduleParts {
  schedules: ScheduleControl;
  store: Pick<ScheduleQueries, 'listSchedules'>;
  ownership: Pick<Ownership, 'requireAccepting'>;
  clock: Clock;
}

type Named = Pick<DeleteScheduleRequest__Output, 'node_group' | 'task_id'>;

/** ScheduleService: what people do with schedules, by the owner of their group. Lists are drawn from the store by any owner. */
export function scheduleService(handlers: Handlers, { schedules, store, ownership, clock }: ScheduleParts): Record<string, UntypedHandleCall> {
  const unary = <Req, Res>(handle: (request: Req) => Promise<Res> | Res): UntypedHandleCall => handlers.unary<Req, Res>(handle) as UntypedHandleCall;
  return {
    GetSchedule: unary(async (request: GetScheduleRequest__Output) => {
      const found = await schedules.get(nameIn(request), request.live_only);
      return { schedule: 'schedule' in found ? toSchedule(found.schedule, found.nextTimes) : toPastSchedule(found) };
    }),
    ListSchedules: unary((request: ListSchedulesRequest__Output) => {
      checkScheduleList(request);
      ownership.requireAccepting();
      return listSchedules(store, request);
    }),
    SuspendSchedule: unary(async (request: Named) => {
      const { schedule, nextTimes, changed } = await schedules.suspend(nameIn(request));
      return { schedule: toSchedule(schedule, nextTimes), changed };
    }),
    ResumeSchedule: unary(async (request: Named) => {
      const { schedule, nextTimes, changed } = await schedules.resume(nameIn(request));
      return { schedule: toSchedule(schedule, nextTimes), changed };
    }),
    DeleteSchedule: unary(async (request: Named) => {
      const { running, cancelled, more } = await schedules.remove(nameIn(request));
      return { running_instance_ids: running.slice(0, mostNamed), cancelled_instance_ids: cancelled.slice(0, mostNamed), running_count: running.length, cancelled_count: cancelled.length, more };
    }),
    TriggerSchedule: unary(async ({ _payload, ...request }: TriggerScheduleRequest__Output) => {
      checkTrigger(request);
      const { instance_id: instanceId, ext_params: extParams, payload, scheduled_time: scheduledTime } = request;
      const run = await schedules.trigger({ ...nameIn(request), instanceId, extParams, payload, scheduledTime });
      return { instance_id: run.instanceId, waits: run.waits };
    }),
    PreviewSchedule: unary((request: PreviewScheduleRequest__Output) => {
      checkPreview(request);
      return previewSchedule(request, clock);
    }),
  };
}

function nameIn({ node_group, task_id }: Named): ScheduleName {
  checkScheduleName({ node_group, task_id });
  return { nodeGroup: node_group, taskId: task_id };
}

async function listSchedules(store: ScheduleParts['store'], request: ListSchedulesRequest__Output): Promise<ListSchedulesResponse> {
  const limit = request.page_size === 0 ? 100 : request.page_size;
  const state = request.state === 'SCHEDULE_STATE_ACTIVE' ? 'ACTIVE' : request.state === 'SCHEDULE_STATE_SUSPENDED' ? 'SUSPENDED' : undefined;
  const rows = await store.listSchedules({ nodeGroup: request.node_group, state, after: fromPageToken(request.page_token), limit });
  const last = rows.at(-1);
  return { schedules: rows.map((row) => toSchedule(row)), next_page_token: rows.length < limit || last === undefined ? '' : toPageToken(last) };
}

/** Without a task there is nothing to spread H by. */
function previewSchedule(request: PreviewScheduleRequest__Output, clock: Clock): PreviewScheduleResponse {
  const { from, count } = request;
  const times = cronTimes(request);
  const fires = previewFires(cron({ ...times, spread: '' }), times.zone, from === 0 ? clock.now() : from, count === 0 ? 10 : count);
  return { fire_times: fires.map(({ at }) => at), shifted_fire_times: fires.filter(({ note }) => note !== '').map(({ at }) => at) };
}
