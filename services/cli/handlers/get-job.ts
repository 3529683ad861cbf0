import type { ValuesOf } from '../../../shared/config/settings.js';
import type { Attempt__Output } from '../../../shared/grpc/generated/lts/v1/Attempt.js';
import type { Instance__Output } from '../../../shared/grpc/generated/lts/v1/Instance.js';
import type { ClientHandler } from '../command.js';
import type { whichOptions } from '../command-options.js';
import { instanceName, readInstance, stateOf } from '../instances.js';
import { formatRecord, formatRows, formatTime, shortName } from '../output.js';

/** lts job get: one instance with its job and its attempts. */
export const getJob: ClientHandler<ValuesOf<typeof whichOptions>> = async ({ args, options, target, output }) => {
  const instance = await readInstance(target, instanceName(args[0], options));
  const { attempts } = await target.call<{ attempts: Attempt__Output[] }>((clients, call, answer) =>
    clients.admin.listAttempts({ instance_id: instance.instance_id }, call, answer),
  );
  output.data({ instance, attempts }, () => [describe(instance), ...(attempts.length === 0 ? [] : [formatRows(attemptRows(attempts))])].join('\n\n'));
  return 'ok';
};

function describe(instance: Instance__Output): string {
  const { job } = instance;
  return formatRecord([
    ['instance id', instance.instance_id],
    ['task id', job?.task_id ?? ''],
    ['group', job?.node_group ?? ''],
    ['type', job?.type ?? ''],
    ['state', stateOf(instance)],
    ['message', instance.message],
    ['priority', job?.priority ?? 100],
    ['payload', job === null ? '' : `${job.payload.length} bytes${job.content_type === '' ? '' : `, ${job.content_type}`}`],
    ['created', formatTime(instance.created_at)],
    ['scheduled', formatTime(instance.scheduled_time)],
    ['due', formatTime(instance.due_at)],
    ['ended', formatTime(instance.ended_at)],
    ['attempts', instance.attempt],
    ['retries', `${instance.retry_times} of ${job?.max_retry_times ?? 0}`],
    ['lost', instance.lost_times === 0 ? '' : instance.lost_times],
    ['worker', instance.task_tracker],
    ['progress', instance.progress === 0 ? '' : `${Math.round(instance.progress * 100)} % ${instance.progress_text}`.trim()],
  ]);
}

function attemptRows(attempts: Attempt__Output[]): { head: string[]; rows: (string | number)[][] } {
  return {
    head: ['attempt', 'worker', 'assigned', 'ended', 'outcome', 'message'],
    rows: attempts.map((attempt) => [
      attempt.attempt,
      attempt.task_tracker,
      formatTime(attempt.assigned_at),
      formatTime(attempt.ended_at),
      attempt.ended_at === 0 ? 'running' : shortName(attempt.outcome, 'ATTEMPT_OUTCOME'),
      attempt.message,
    ]),
  };
}
