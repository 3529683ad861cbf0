import type { ValuesOf } from '../../../shared/config/settings.js';
import type { ExplainInstanceResponse__Output } from '../../../shared/grpc/generated/lts/v1/ExplainInstanceResponse.js';
import type { Instance__Output } from '../../../shared/grpc/generated/lts/v1/Instance.js';
import type { ClientHandler } from '../command.js';
import type { whichOptions } from '../command-options.js';
import { hasEnded, instanceName, readInstance, stateOf } from '../instances.js';
import { formatRows, formatTime, shortName } from '../output.js';

/** lts job explain: why it does not run. */
export const explainJob: ClientHandler<ValuesOf<typeof whichOptions>> = async ({ args, options, target, output }) => {
  const name = instanceName(args[0], options);
  const answer = await target.call<ExplainInstanceResponse__Output>((clients, call, done) => clients.admin.explainInstance(name, call, done));
  const state = shortName(answer.state, 'INSTANCE_STATE');
  const free = answer.causes.length === 0 ? whereItStands(await readInstance(target, { instance_id: answer.instance_id, task_id: '', node_group: '' })) : '';
  output.data(answer, () => {
    if (answer.causes.length === 0) return free;
    const rows = answer.causes.map((cause) => [shortName(cause.reason, 'WAIT_REASON'), cause.message, formatTime(cause.until)]);
    // The store is away, or the tracker has nothing to read it from yet.
    const name = answer.instance_id || `of task ${options.taskId ?? ''}`;
    const about = state === 'UNSPECIFIED' ? `whether there is a job ${name} is not known while this lasts:` : `${answer.instance_id} is ${state}`;
    return `${about}\n\n${formatRows({ head: ['cause', 'message', 'until'], rows })}`;
  });
  return 'ok';
};

function whereItStands(instance: Instance__Output): string {
  const { instance_id: id, task_tracker: worker } = instance;
  const message = instance.message.split('\n')[0] ?? '';
  if (hasEnded(instance)) return `${id} has ended as ${stateOf(instance)}${message === '' ? '' : `: ${message}`}`;
  if (worker !== '') return `${id} is ${stateOf(instance)} on worker ${worker}${message === '' ? '' : `: ${message}`}`;
  return `${id} is ${stateOf(instance)}: nothing holds it back`;
}
