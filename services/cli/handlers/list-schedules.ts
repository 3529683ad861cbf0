import type { ValuesOf } from '../../../shared/config/settings.js';
import type { ListSchedulesRequest } from '../../../shared/grpc/generated/lts/v1/ListSchedulesRequest.js';
import type { ListSchedulesResponse__Output } from '../../../shared/grpc/generated/lts/v1/ListSchedulesResponse.js';
import type { Schedule__Output } from '../../../shared/grpc/generated/lts/v1/Schedule.js';
import type { ClientHandler } from '../command.js';
import type { listSchedulesOptions } from '../command-options.js';
import { formatTime } from '../output.js';
import { firesAt, scheduleState } from '../schedules.js';

const mostPerPage = 1_000;

/** lts schedule list: by group and task. */
export const listSchedules: ClientHandler<ValuesOf<typeof listSchedulesOptions>> = async ({ options, target, output }) => {
  const found: Schedule__Output[] = [];
  let pageToken = '';
  do {
    const request: ListSchedulesRequest = {
      node_group: options.group ?? '',
      state: options.state === undefined ? 'SCHEDULE_STATE_UNSPECIFIED' : `SCHEDULE_STATE_${options.state}`,
      page_size: Math.min(options.limit - found.length, mostPerPage),
      page_token: pageToken,
    };
    const page = await target.call<ListSchedulesResponse__Output>((clients, call, answer) => clients.schedule.listSchedules(request, call, answer));
    found.push(...page.schedules);
    pageToken = page.next_page_token;
  } while (pageToken !== '' && found.length < options.limit);
  output.data(found, () => ({
    head: ['task id', 'group', 'type', 'state', 'fires', 'next', 'last', 'runs'],
    rows: found.map((schedule) => [
      schedule.job?.task_id ?? '',
      schedule.job?.node_group ?? '',
      schedule.job?.type ?? '',
      scheduleState(schedule),
      firesAt(schedule.job),
      formatTime(schedule.next_fire_time),
      formatTime(schedule.last_fire_time),
      schedule.fire_count,
    ]),
  }));
  if (pageToken !== '') output.message('there are more; see --limit');
  return 'ok';
};
