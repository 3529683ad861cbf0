import type { ValuesOf } from '../../../shared/config/settings.js';
import type { ListFeedbackResponse__Output } from '../../../shared/grpc/generated/lts/v1/ListFeedbackResponse.js';
import type { ResendFeedbackResponse__Output } from '../../../shared/grpc/generated/lts/v1/ResendFeedbackResponse.js';
import type { ClientHandler } from '../command.js';
import type { feedbackListOptions, feedbackResendOptions } from '../command-options.js';
import { formatTime, shortName } from '../output.js';
import { exitOfResend } from '../resend.js';
import { UsageError } from '../usage-error.js';

/** lts feedback list: results that are owed to JobClients. */
export const listFeedback: ClientHandler<ValuesOf<typeof feedbackListOptions>> = async ({ options, target, output }) => {
  const request = { submit_node_group: options.submitGroup ?? '', dead_only: options.dead, page_size: options.limit };
  const answer = await target.call<ListFeedbackResponse__Output>((clients, call, answer) => clients.admin.listFeedback(request, call, answer));
  const { entries, unclaimed } = answer;
  output.data(entries, () => ({
    head: ['feedback id', 'submit group', 'task id', 'scheduled', 'state', 'ended', 'deliveries', 'dead', 'next', 'last error'],
    rows: entries.map(({ result, dead, next_at: nextAt, last_error: lastError }) => [
      result?.feedback_id ?? '',
      result?.submit_node_group ?? '',
      result?.task_id ?? '',
      formatTime(result?.scheduled_time ?? 0),
      shortName(result?.state, 'INSTANCE_STATE'),
      formatTime(result?.ended_at ?? 0),
      result?.deliveries ?? 0,
      dead ? 'yes' : '',
      formatTime(nextAt),
      lastError,
    ]),
  }));
  for (const { submit_node_group: group, owed, since } of unclaimed) output.message(`${owed} results of ${group} are picked up by nobody since ${formatTime(since)}; start a JobClient of that group`);
  return 'ok';
};

/** lts feedback resend: results that failed 20 times are delivered again. */
export const resendFeedback: ClientHandler<ValuesOf<typeof feedbackResendOptions>> = async ({ args, options, target, output }) => {
  const ids = args.filter((id) => id !== undefined);
  if (ids.length === 0 && options.submitGroup === undefined) throw new UsageError('name the results: their ids, or --submit-group');
  const request = { feedback_ids: ids, submit_node_group: options.submitGroup ?? '' };
  const answer = await target.call<ResendFeedbackResponse__Output>((clients, call, done) => clients.admin.resendFeedback(request, call, done));
  output.data(answer, () => `${answer.resent} in delivery again`);
  return exitOfResend(ids, answer.resent, { noun: 'results', list: 'lts feedback list --dead' }, output);
};
