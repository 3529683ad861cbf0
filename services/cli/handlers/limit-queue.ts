import type { ValuesOf } from '../../../shared/config/settings.js';
import type { GroupLimits } from '../../../shared/grpc/generated/lts/v1/GroupLimits.js';
import type { SetGroupLimitsResponse__Output } from '../../../shared/grpc/generated/lts/v1/SetGroupLimitsResponse.js';
import type { ClientHandler } from '../command.js';
import type { queueLimitOptions } from '../command-options.js';
import { formatRecord } from '../output.js';
import { UsageError } from '../usage-error.js';

/** lts queue limit: sets or removes limits of a group. */
export const limitQueue: ClientHandler<ValuesOf<typeof queueLimitOptions>> = async ({ args, options, target, output }) => {
  const { backlog, maxRunning, startsPerSecond } = options;
  if (backlog === undefined && maxRunning === undefined && startsPerSecond === undefined) {
    throw new UsageError('no limit is given; use --backlog, --max-running or --starts-per-second with a value or none; lts queue list shows those that hold');
  }
  const limits = { ...field('backlog', backlog), ...field('max_running', maxRunning), ...field('starts_per_second', startsPerSecond) };
  const request = { node_group: args[0] ?? '', limits };
  const { limits: held } = await target.call<SetGroupLimitsResponse__Output>((clients, call, answer) => clients.admin.setGroupLimits(request, call, answer));
  output.data(held ?? {}, () =>
    formatRecord([
      ['group', request.node_group],
      ['backlog', held?.backlog ?? 'none'],
      ['max running', held?.max_running ?? 'none'],
      ['starts per second', held?.starts_per_second ?? 'none'],
    ]),
  );
  return 'ok';
};

/** In the contract -1 removes a limit. */
function field(name: keyof GroupLimits, given: number | 'none' | undefined): GroupLimits {
  return given === undefined ? {} : { [name]: given === 'none' ? -1 : given };
}
