import type { ValuesOf } from '../../../shared/config/settings.js';
import type { GroupLimits__Output } from '../../../shared/grpc/generated/lts/v1/GroupLimits.js';
import type { Queue__Output } from '../../../shared/grpc/generated/lts/v1/Queue.js';
import type { ClientHandler } from '../command.js';
import type { queueOptions } from '../command-options.js';
import { tellMissing } from '../missing.js';
import { formatTime } from '../output.js';

/** lts queue list: how much waits, is ready, runs and is owed, per group. */
export const listQueues: ClientHandler<ValuesOf<typeof queueOptions>> = async ({ options, target, output }) => {
  const request = { node_group: options.group ?? '' };
  const { queues, missing } = await target.call<{ queues: Queue__Output[]; missing: string[] }>((clients, call, answer) => clients.admin.listQueues(request, call, answer));
  const limited = queues.some(({ limits }) => limits !== null);
  output.data(queues, () => ({
    head: ['group', 'waiting', 'ready', 'executing', 'oldest ready', 'workers', 'free slots', 'feedback', 'dead', 'unclaimed since', ...(limited ? ['limits'] : [])],
    rows: queues.map((queue) => [
      queue.node_group,
      queue.waiting,
      queue.ready,
      queue.executing,
      formatTime(queue.oldest_ready_at),
      queue.workers,
      queue.free_slots,
      queue.feedback,
      queue.feedback_dead,
      formatTime(queue.feedback_unclaimed_since),
      ...(limited ? [formatLimits(queue.limits)] : []),
    ]),
  }));
  tellMissing(missing, output);
  return 'ok';
};

function formatLimits(limits: GroupLimits__Output | null): string {
  const named = [['backlog', limits?.backlog], ['running', limits?.max_running], ['starts/s', limits?.starts_per_second]] as const;
  return named.flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`])).join(', ');
}
