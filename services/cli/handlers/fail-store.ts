import type { ValuesOf } from '../../../shared/config/settings.js';
import type { ListEntriesResponse__Output } from '../../../shared/grpc/generated/lts/v1/ListEntriesResponse.js';
import type { ResendEntriesResponse__Output } from '../../../shared/grpc/generated/lts/v1/ResendEntriesResponse.js';
import type { ClientHandler } from '../command.js';
import type { failStoreListOptions } from '../command-options.js';
import { formatTime } from '../output.js';
import { exitOfResend } from '../resend.js';

/** lts failstore list: what the gateway keeps on its disk. */
export const listFailStore: ClientHandler<ValuesOf<typeof failStoreListOptions>> = async ({ options, target, output }) => {
  const request = { dead_only: options.dead, page_size: options.limit };
  const answer = await target.call<ListEntriesResponse__Output>((clients, call, done) => clients.failStore.listEntries(request, call, done));
  output.data(answer, () => ({
    head: ['entry', 'kind', 'task id', 'group', 'instance id', 'stored', 'tries', 'dead', 'taken from', 'last error'],
    rows: answer.entries.map((entry) => [
      entry.entry_id,
      entry.kind,
      entry.task_id,
      entry.node_group,
      entry.instance_id,
      formatTime(entry.stored_at),
      entry.tries,
      entry.dead ? 'yes' : '',
      entry.taken_from,
      entry.last_error,
    ]),
  }));
  if (answer.entries.length < answer.total) output.message(`${answer.entries.length} of ${answer.total} entries; see --limit`);
  return 'ok';
};

/** lts failstore resend: dead entries are sent again. */
export const resendFailStore: ClientHandler<object> = async ({ args, target, output }) => {
  const request = { entry_ids: args.filter((id) => id !== undefined) };
  const answer = await target.call<ResendEntriesResponse__Output>((clients, call, done) => clients.failStore.resendEntries(request, call, done));
  output.data(answer, () => `${answer.resent} in sending again`);
  return exitOfResend(request.entry_ids, answer.resent, { noun: 'entries', list: 'lts failstore list --dead' }, output);
};
