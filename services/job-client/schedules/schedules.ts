import type { CallOptions, ClientUnaryCall } from '@grpc/grpc-js';
import type { DeleteScheduleResponse__Output } from '../../../shared/grpc/generated/lts/v1/DeleteScheduleResponse.js';
import type { GetScheduleResponse__Output } from '../../../shared/grpc/generated/lts/v1/GetScheduleResponse.js';
import type { ListSchedulesRequest } from '../../../shared/grpc/generated/lts/v1/ListSchedulesRequest.js';
import type { ListSchedulesResponse__Output } from '../../../shared/grpc/generated/lts/v1/ListSchedulesResponse.js';
import type { PreviewScheduleResponse__Output } from '../../../shared/grpc/generated/lts/v1/PreviewScheduleResponse.js';
import type { ResumeScheduleResponse__Output } from '../../../shared/grpc/generated/lts/v1/ResumeScheduleResponse.js';
import type { Schedule__Output } from '../../../shared/grpc/generated/lts/v1/Schedule.js';
import type { ScheduleServiceClient } from '../../../shared/grpc/generated/lts/v1/ScheduleService.js';
import type { SuspendScheduleResponse__Output } from '../../../shared/grpc/generated/lts/v1/SuspendScheduleResponse.js';
import type { TriggerScheduleResponse__Output } from '../../../shared/grpc/generated/lts/v1/TriggerScheduleResponse.js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { newId } from '../../../shared/ids.js';
import { checkPreview, checkScheduleList, checkScheduleName, checkTrigger, type ScheduleName } from '../../../shared/job/check-schedule-request.js';
import { type CallParts, callOwner } from '../discover/call-owner.js';
import type { CronReading, EnumName } from '../submit/new-job.js';

/** Which schedules, and how many at once. */
export interface ScheduleFilter extends Omit<ListSchedulesRequest, 'state'> {
  state?: EnumName<'SCHEDULE_STATE', 'ACTIVE' | 'SUSPENDED'>;
}

/** A run by hand, and what it is given in place of what the job has. */
export interface NewTrigger extends ScheduleName {
  /** UUIDv7 of the run, so that the call can be repeated. Default: made here. */
  instance_id?: string;
  ext_params?: Record<string, string>;
  /** Bytes, or a text that is sent as UTF-8. */
  payload?: Uint8Array | string;
  /** Stands for this scheduled time, such as one that was missed. Milliseconds since 1970 UTC, or a Date. Default: now. */
  scheduled_time?: number | Date;
}

/** An expression to look at. */
export interface NewPreview extends CronReading {
  cron_expression: string;
  /** From this instant on, inclusive: milliseconds since 1970 UTC, or a Date. Default: now. */
  from?: number | Date;
  /** 1 to 1,000. Default 10. */
  count?: number;
}

/**
 * Jobs with a schedule, once they are submitted: what ScheduleService does, with its answers. All throw LtsError:
 * INVALID_ARGUMENT, NOT_FOUND, NO_TRACKER, DEADLINE_PASSED.
 */
export class Schedules {
  readonly #parts: CallParts;
  readonly #timeoutMs: number;
  readonly #requireOpen: () => void;

  constructor(parts: CallParts, timeoutMs: number, requireOpen: () => void) {
    this.#parts = parts;
    this.#timeoutMs = timeoutMs;
    this.#requireOpen = requireOpen;
  }

  /** As it is now, with the next ten scheduled times. */
  async get(name: ScheduleName): Promise<Schedule__Output> {
    const request = checkScheduleName(name);
    const { schedule } = await this.#call<GetScheduleResponse__Output>(request.node_group, (client, options, done) => client.getSchedule(request, options, done));
    if (schedule === null) throw new LtsError('INTERNAL', `the answer for ${request.task_id} holds no schedule`);
    return schedule;
  }

  /** One page, by group and task; without payloads. */
  async list(filter: ScheduleFilter = {}): Promise<ListSchedulesResponse__Output> {
    const request = checkScheduleList(filter);
    return this.#call(request.node_group ?? '', (client, options, done) => client.listSchedules(request, options, done));
  }

  /** Fires no more until it is resumed: what waits of it is cancelled, what runs goes on and is not retried. */
  async suspend(name: ScheduleName): Promise<SuspendScheduleResponse__Output> {
    const request = checkScheduleName(name);
    return this.#call(request.node_group, (client, options, done) => client.suspendSchedule(request, options, done));
  }

  /** Fires again from now on; times in between are passed over. Throws FAILED_PRECONDITION when none would come. */
  async resume(name: ScheduleName): Promise<ResumeScheduleResponse__Output> {
    const request = checkScheduleName(name);
    return this.#call(request.node_group, (client, options, done) => client.resumeSchedule(request, options, done));
  }

  /** Ends it: what waits of it is cancelled, what runs goes on and is not retried. `cancel` by task also stops what runs. */
  async delete(name: ScheduleName): Promise<DeleteScheduleResponse__Output> {
    const request = checkScheduleName(name);
    return this.#call(request.node_group, (client, options, done) => client.deleteSchedule(request, options, done));
  }

  /** One run beside the scheduled ones, also of a suspended schedule. */
  async trigger(trigger: NewTrigger): Promise<TriggerScheduleResponse__Output> {
    const checked = checkTrigger(trigger);
    const request = { ...checked, instance_id: checked.instance_id || newId() };
    return this.#call(request.node_group, (client, options, done) => client.triggerSchedule(request, options, done));
  }

  /** When an expression fires. */
  async preview(preview: NewPreview): Promise<PreviewScheduleResponse__Output> {
    const request = checkPreview(preview);
    return this.#call('', (client, options, done) => client.previewSchedule(request, options, done));
  }

  #call<Res>(nodeGroup: string, send: (client: ScheduleServiceClient, options: CallOptions, done: (error: unknown, response?: Res) => void) => ClientUnaryCall): Promise<Res> {
    this.#requireOpen();
    return callOwner<Res>(this.#parts, nodeGroup, this.#timeoutMs, ({ schedule }, options, done) => send(schedule, options, done));
  }
}
