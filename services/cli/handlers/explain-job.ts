import type { ValuesOf } from '../../../shared/config/settings.js';
import type { ExplainInstanceResponse__Output } from '../../../shared/grpc/generated/lts/v1/ExplainInstanceResponse.js';
import type { ClientHandler } from '../command.js';
import type { whichOptions } from '../command-options.js';
import { instanceName } from '../instances.js';
import { formatRows, formatTime, shortName } from '../output.js';

/** lts job explain: why it does not run. */
export const explainJob: ClientHandler<ValuesOf<typeof whichOptions>> = async ({ args, options, target, output }) => {
  const name = instanceName(args[0], options);
  const answer = await target.call<ExplainInstanceResponse__Output>((clients, call, done) => clients.admin.explainInstance(name, call, done));
  const state = shortName(answer.state, 'INSTANCE_STATE');
  output.data(answer, () => {
    if (answer.causes.length === 0) return `${answer.instance_id} is ${state}: nothing holds it back`;
    const rows = answer.causes.map((cause) => [shortName(cause.reason, 'WAIT_REASON'), cause.message, formatTime(cause.until)]);
    return `${answer.instance_id} is ${state}\n\n${formatRows({ head: ['cause', 'message', 'until'], rows })}`;
  });
  return 'ok';
};
