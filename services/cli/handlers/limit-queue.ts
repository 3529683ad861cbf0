import type { ValuesOf } from '../../../shared/config/settings.js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import type { GroupLimits, GroupLimits__Output } from '../../../shared/grpc/generated/lts/v1/GroupLimits.js';
import type { ListQueuesResponse__Output } from '../../../shared/grpc/generated/lts/v1/ListQueuesResponse.js';
import type { SetGroupLimitsResponse__Output } from '../../../shared/grpc/generated/lts/v1/SetGroupLimitsResponse.js';
import type { ClientHandler } from '../command.js';
import type { queueLimitOptions } from '../command-options.js';
import { formatRecord } from '../output.js';
import type { Target } from '../target.js';

/** lts queue limit: sets or removes limits of a group; without options it shows those that hold. */
export const limitQueue: ClientHandler<ValuesOf<typeof queueLimitOptions>> = async ({ args, options, target, output }) => {
  const { backlog, maxRunning, startsPerSecond } = options;
  const group = args[0] ?? '';
  const limits = { ...field('backlog', backlog), ...field('max_running', maxRunning), ...field('starts_per_second', startsPerSecond) };
  const held = Object.keys(limits).length === 0 ? await read(target, group) : await set(target, group, limits);
  output.data(held ?? {}, () =>
    formatRecord([
      ['group', group],
      ['backlog', held?.backlog ?? 'none'],
      ['max running', held?.max_running ?? 'none'],
      ['starts per second', held?.starts_per_second ?? 'none'],
    ]),
  );
  return 'ok';
};

async function set(target: Target, group: string, limits: GroupLimits): Promise<GroupLimits__Output | null> {
  const answer = await target.call<SetGroupLimitsResponse__Output>((clients, call, done) => clients.admin.setGroupLimits({ node_group: group, limits }, call, done));
  return answer.limits;
}

async function read(target: Target, group: string): Promise<GroupLimits__Output | null> {
  const { queues, missing } = await target.call<ListQueuesResponse__Output>((clients, call, done) => clients.admin.listQueues({ node_group: group }, call, done));
  const found = queues.find(({ node_group: name }) => name === group);
  // The one that does not answer may be its owner.
  if (found === undefined && missing.length > 0) throw new LtsError('NO_TRACKER', `the limits of group ${group} are not known here, and ${missing.join(', ')} did not answer; ask again, or ask a gateway`);
  return found?.limits ?? null;
}

/** In the contract -1 removes a limit. */
function field(name: keyof GroupLimits, given: number | 'none' | undefined): GroupLimits {
  return given === undefined ? {} : { [name]: given === 'none' ? -1 : given };
}
