import type { ValuesOf } from '../../../shared/config/settings.js';
import type { CancelJobResponse__Output } from '../../../shared/grpc/generated/lts/v1/CancelJobResponse.js';
import type { ClientHandler } from '../command.js';
import type { whichOptions } from '../command-options.js';
import { instanceName, readInstance } from '../instances.js';
import { shortName } from '../output.js';

/** lts job cancel: a waiting one ends at once, the worker of a running one is told. */
export const cancelJob: ClientHandler<ValuesOf<typeof whichOptions>> = async ({ args, options, target, output }) => {
  const name = instanceName(args[0], options);
  // The group names the owner, so a cancel by id alone asks for it first.
  if (name.node_group === '') name.node_group = (await readInstance(target, name)).job?.node_group ?? '';
  const request = name.instance_id === '' ? name : { ...name, task_id: '' };
  const answer = await target.call<CancelJobResponse__Output>((clients, call, done) => clients.job.cancelJob(request, call, done));
  const outcome = shortName(answer.outcome, 'CANCEL_OUTCOME');
  output.data(answer, () => ({ head: ['instance id', 'outcome'], rows: answer.instance_ids.map((id) => [id, outcome]) }));
  if (answer.instance_ids.length === 0) output.message(outcome);
  return 'ok';
};
