import type { ValuesOf } from '../../../shared/config/settings.js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import type { CancelJobResponse__Output } from '../../../shared/grpc/generated/lts/v1/CancelJobResponse.js';
import type { ClientHandler } from '../command.js';
import type { whichOptions } from '../command-options.js';
import type { ExitName } from '../exit-codes.js';
import { hasEnded, type InstanceName, instanceName, readInstance, stateOf } from '../instances.js';
import { type Output, shortName } from '../output.js';
import type { Target } from '../target.js';

/** lts job cancel: a waiting one ends at once, the worker of a running one is told. */
export const cancelJob: ClientHandler<ValuesOf<typeof whichOptions>> = async ({ args, options, target, output }) => {
  const name = instanceName(args[0], options);
  // The group names the owner, so a cancel by id alone asks for it first.
  if (name.node_group === '') name.node_group = (await readInstance(target, name)).job?.node_group ?? '';
  const request = name.instance_id === '' ? name : { ...name, task_id: '' };
  let answer: CancelJobResponse__Output;
  try {
    answer = await target.call<CancelJobResponse__Output>((clients, call, done) => clients.job.cancelJob(request, call, done));
  } catch (error) {
    if (!(error instanceof LtsError) || error.reason !== 'INSTANCE_NOT_FOUND') throw error;
    return endedAlready(name, target, output);
  }
  const outcome = shortName(answer.outcome, 'CANCEL_OUTCOME');
  output.data(answer, () => ({ head: ['instance id', 'outcome'], rows: answer.instance_ids.map((id) => [id, outcome]) }));
  const further = Number(answer.instance_count) - answer.instance_ids.length;
  if (further > 0) output.message(`and ${further} further instances`);
  if (answer.more) output.message('very many waited: the others are cancelled now, none of them begins');
  if (answer.instance_ids.length === 0) output.message(outcome);
  return 'ok';
};

/** A task is cancelled by what lives of it: when nothing does, its newest instance tells why. Throws INSTANCE_NOT_FOUND. */
async function endedAlready(name: InstanceName, target: Target, output: Output): Promise<ExitName> {
  const instance = await readInstance(target, name);
  if (!hasEnded(instance)) throw new LtsError('INSTANCE_NOT_FOUND', `task ${instance.job?.task_id ?? name.task_id} began anew meanwhile; cancel it again`);
  const answer = { outcome: 'CANCEL_OUTCOME_ALREADY_ENDED', instance_ids: [instance.instance_id] };
  output.data(answer, () => ({ head: ['instance id', 'outcome'], rows: answer.instance_ids.map((id) => [id, 'ALREADY_ENDED']) }));
  output.message(`task ${instance.job?.task_id ?? name.task_id} has ended already as ${stateOf(instance)}`);
  return 'ok';
}
