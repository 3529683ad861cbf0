import type { ValuesOf } from '../../shared/config/settings.js';
import { LtsError } from '../../shared/errors/lts-error.js';
import type { Instance__Output } from '../../shared/grpc/generated/lts/v1/Instance.js';
import type { whichOptions } from './command-options.js';
import { shortName } from './output.js';
import type { Target } from './target.js';
import { UsageError } from './usage-error.js';

/** Names one instance: by id, or the newest one of a task. */
export interface InstanceName {
  instance_id: string;
  task_id: string;
  node_group: string;
}

/** What the command line names. Throws UsageError when it names nothing. */
export function instanceName(id: string | undefined, options: ValuesOf<typeof whichOptions>): InstanceName {
  if (id === undefined && (options.taskId === undefined || options.group === undefined)) {
    throw new UsageError('name the job: its instance id, or --task-id and --group');
  }
  return { instance_id: id ?? '', task_id: options.taskId ?? '', node_group: options.group ?? '' };
}

/** Reads one instance. Throws INSTANCE_NOT_FOUND. */
export async function readInstance(target: Target, name: InstanceName): Promise<Instance__Output> {
  const { instance } = await target.call<{ instance: Instance__Output | null }>((clients, options, answer) => clients.admin.getInstance(name, options, answer));
  if (instance === null) throw new LtsError('INSTANCE_NOT_FOUND', `the answer for ${name.instance_id || name.task_id} holds no instance`);
  return instance;
}

const finalStates = ['INSTANCE_STATE_SUCCEEDED', 'INSTANCE_STATE_FAILED', 'INSTANCE_STATE_CANCELLED', 'INSTANCE_STATE_REPLACED', 'INSTANCE_STATE_LOST', 'INSTANCE_STATE_MISSED', 'INSTANCE_STATE_DISCARDED'];

/** Whether the instance never changes any more. */
export function hasEnded(instance: Instance__Output): boolean {
  return finalStates.includes(instance.state);
}

/** EXECUTING and the like. */
export function stateOf(instance: Instance__Output): string {
  return shortName(instance.state, 'INSTANCE_STATE');
}
