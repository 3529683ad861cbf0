import type { ValuesOf } from '../../../shared/config/settings.js';
import type { Instance__Output } from '../../../shared/grpc/generated/lts/v1/Instance.js';
import type { InstanceState } from '../../../shared/grpc/generated/lts/v1/InstanceState.js';
import type { ListInstancesRequest } from '../../../shared/grpc/generated/lts/v1/ListInstancesRequest.js';
import type { ListInstancesResponse__Output } from '../../../shared/grpc/generated/lts/v1/ListInstancesResponse.js';
import type { ClientHandler } from '../command.js';
import type { listJobsOptions } from '../command-options.js';
import { stateOf } from '../instances.js';
import { formatTime } from '../output.js';

const mostPerPage = 1_000;
const mostOfMessage = 60;

/** lts job list: instances, newest first. */
export const listJobs: ClientHandler<ValuesOf<typeof listJobsOptions>> = async ({ options, target, output }) => {
  const found: Instance__Output[] = [];
  let pageToken = '';
  do {
    const request: ListInstancesRequest = {
      node_group: options.group ?? '',
      task_id: options.taskId ?? '',
      states: (options.state ?? []).map((state): InstanceState => `INSTANCE_STATE_${state}`),
      page_size: Math.min(options.limit - found.length, mostPerPage),
      page_token: pageToken,
    };
    const page = await target.call<ListInstancesResponse__Output>((clients, call, answer) => clients.admin.listInstances(request, call, answer));
    found.push(...page.instances);
    pageToken = page.next_page_token;
  } while (pageToken !== '' && found.length < options.limit);
  const scheduled = found.some((instance) => instance.scheduled_time !== 0);
  output.data(found, () => ({
    head: ['instance id', 'task id', 'group', 'type', 'state', 'attempts', ...(scheduled ? ['scheduled'] : []), 'created', 'message'],
    rows: found.map((instance) => [
      instance.instance_id,
      instance.job?.task_id ?? '',
      instance.job?.node_group ?? '',
      instance.job?.type ?? '',
      stateOf(instance),
      instance.attempt,
      ...(scheduled ? [formatTime(instance.scheduled_time)] : []),
      formatTime(instance.created_at),
      shortened(instance.message),
    ]),
  }));
  if (pageToken !== '') output.message(`there are more; see --limit`);
  return 'ok';
};

function shortened(message: string): string {
  return message.length > mostOfMessage ? `${message.slice(0, mostOfMessage)}…` : message;
}
