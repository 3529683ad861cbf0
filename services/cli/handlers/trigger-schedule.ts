import type { ValuesOf } from '../../../shared/config/settings.js';
import type { TriggerScheduleResponse__Output } from '../../../shared/grpc/generated/lts/v1/TriggerScheduleResponse.js';
import { newId } from '../../../shared/ids.js';
import { systemClock } from '../../../shared/time/clock.js';
import type { ClientHandler } from '../command.js';
import type { triggerOptions } from '../command-options.js';
import { given } from '../given.js';
import { paramsOf } from '../job-from-options.js';
import { parseTime } from '../parse-time.js';
import { scheduleName } from '../schedules.js';

/** lts schedule trigger: one run beside the scheduled ones. */
export const triggerSchedule: ClientHandler<ValuesOf<typeof triggerOptions>> = async ({ options, target, output }) => {
  const { param, payload, at } = options;
  const request = given({
    ...scheduleName(options),
    // Followed to another owner, the call must not start a second run.
    instance_id: newId(),
    ext_params: param === undefined ? undefined : paramsOf(param),
    payload: payload === undefined ? undefined : Buffer.from(payload),
    scheduled_time: at === undefined ? undefined : parseTime('--at', at, systemClock.now()),
  });
  const answer = await target.call<TriggerScheduleResponse__Output>((clients, call, done) => clients.schedule.triggerSchedule(request, call, done));
  output.data(answer, () => ({ head: ['instance id', 'run'], rows: [[answer.instance_id, answer.waits ? 'waits for the run that is still going' : 'begins']] }));
  return 'ok';
};
