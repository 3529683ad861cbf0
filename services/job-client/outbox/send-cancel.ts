import { toLtsError } from '../../../shared/errors/lts-error.js';
import type { StoredEntry } from '../../../shared/failstore/entry.js';
import type { CancelJobRequest } from '../../../shared/grpc/generated/lts/v1/CancelJobRequest.js';
import type { CancelJobResponse__Output } from '../../../shared/grpc/generated/lts/v1/CancelJobResponse.js';
import type { GetScheduleResponse__Output } from '../../../shared/grpc/generated/lts/v1/GetScheduleResponse.js';
import type { ListInstancesResponse__Output } from '../../../shared/grpc/generated/lts/v1/ListInstancesResponse.js';
import { isId, timeOfId } from '../../../shared/ids.js';
import { type CallParts, callOwner } from '../discover/call-owner.js';
import { storedCancel } from './entries.js';

const alive = ['INSTANCE_STATE_WAITING', 'INSTANCE_STATE_READY', 'INSTANCE_STATE_EXECUTING'] as const;

/**
 * Sends a cancel that waited. One by task means what was there when it was made: it goes to the schedule of the task
 * when that is not younger, otherwise to its living instances that are not. What is gone needs no cancel. Throws LtsError.
 */
export async function sendCancel(parts: CallParts, entry: StoredEntry, timeoutMs: number): Promise<void> {
  const { instanceId, taskId, nodeGroup, at } = storedCancel(entry);
  const scheduleIsMeant = instanceId === '' && (await isScheduleBefore(parts, nodeGroup, taskId, at, timeoutMs));
  const ids = instanceId === '' && !scheduleIsMeant ? await instancesBefore(parts, nodeGroup, taskId, at, timeoutMs) : [instanceId];
  for (const id of ids) {
    await unlessGone(cancelAtOwner(parts, id === '' ? { task_id: taskId, node_group: nodeGroup } : { instance_id: id, node_group: nodeGroup }, timeoutMs));
  }
}

/** What it gives; undefined when what is meant is not there. */
async function unlessGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    // A tracker of the former release knows no schedules.
    if (['INSTANCE_NOT_FOUND', 'NOT_FOUND', 'UNSUPPORTED'].includes(toLtsError(error).reason)) return undefined;
    throw error;
  }
}

async function isScheduleBefore(parts: CallParts, nodeGroup: string, taskId: string, at: number, timeoutMs: number): Promise<boolean> {
  const request = { node_group: nodeGroup, task_id: taskId, live_only: true };
  const found = await unlessGone(callOwner<GetScheduleResponse__Output>(parts, nodeGroup, timeoutMs, (clients, options, answer) => clients.schedule.getSchedule(request, options, answer)));
  const id = found?.schedule?.schedule_id ?? '';
  return isId(id) && timeOfId(id) <= at;
}

/** One cancel, at the owner of its group. Throws LtsError. */
export function cancelAtOwner(parts: CallParts, request: CancelJobRequest, timeoutMs: number): Promise<CancelJobResponse__Output> {
  return callOwner<CancelJobResponse__Output>(parts, request.node_group ?? '', timeoutMs, (clients, options, answer) => clients.job.cancelJob(request, options, answer));
}

async function instancesBefore(parts: CallParts, nodeGroup: string, taskId: string, at: number, timeoutMs: number): Promise<string[]> {
  const request = { node_group: nodeGroup, task_id: taskId, states: [...alive], page_size: 100 };
  const response = await callOwner<ListInstancesResponse__Output>(parts, nodeGroup, timeoutMs, (clients, options, answer) =>
    clients.admin.listInstances(request, options, answer));
  return response.instances.map((instance) => instance.instance_id).filter((id) => isId(id) && timeOfId(id) <= at);
}
