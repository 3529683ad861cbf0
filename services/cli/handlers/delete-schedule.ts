import type { ValuesOf } from '../../../shared/config/settings.js';
import type { DeleteScheduleResponse__Output } from '../../../shared/grpc/generated/lts/v1/DeleteScheduleResponse.js';
import type { ClientHandler } from '../command.js';
import type { whichOptions } from '../command-options.js';
import { scheduleName } from '../schedules.js';

/** lts schedule delete: nothing fires any more; shows what became of its runs. */
export const deleteSchedule: ClientHandler<ValuesOf<typeof whichOptions>> = async ({ options, target, output }) => {
  const name = scheduleName(options);
  const answer = await target.call<DeleteScheduleResponse__Output>((clients, call, done) => clients.schedule.deleteSchedule(name, call, done));
  const { running_instance_ids: running, cancelled_instance_ids: cancelled } = answer;
  const rows = [...running.map((id) => [id, 'goes on']), ...cancelled.map((id) => [id, 'CANCELLED'])];
  output.data(answer, () => (rows.length === 0 ? 'no run waited or went on' : { head: ['instance id', 'run'], rows }));
  const further = Number(answer.running_count) + Number(answer.cancelled_count) - running.length - cancelled.length;
  if (further > 0) output.message(`and ${further} further runs`);
  if (answer.more) output.message('very many waited: the others are cancelled now, none of them begins');
  output.message(`the schedule of task ${name.task_id} is deleted${running.length === 0 ? '' : '; to stop what runs: lts job cancel <instance-id>'}`);
  return 'ok';
};
