import type { UntypedHandleCall } from '@grpc/grpc-js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { quoted } from '../../../shared/errors/quoted.js';
import type { DrainNodeRequest__Output } from '../../../shared/grpc/generated/lts/v1/DrainNodeRequest.js';
import type { GetClusterResponse } from '../../../shared/grpc/generated/lts/v1/GetClusterResponse.js';
import type { GetInstanceRequest__Output } from '../../../shared/grpc/generated/lts/v1/GetInstanceRequest.js';
import type { ListAttemptsRequest__Output } from '../../../shared/grpc/generated/lts/v1/ListAttemptsRequest.js';
import type { ListFeedbackRequest__Output } from '../../../shared/grpc/generated/lts/v1/ListFeedbackRequest.js';
import type { ListInstancesRequest__Output } from '../../../shared/grpc/generated/lts/v1/ListInstancesRequest.js';
import type { ListLogsRequest__Output } from '../../../shared/grpc/generated/lts/v1/ListLogsRequest.js';
import type { ListQueuesRequest__Output } from '../../../shared/grpc/generated/lts/v1/ListQueuesRequest.js';
import type { ResendFeedbackRequest__Output } from '../../../shared/grpc/generated/lts/v1/ResendFeedbackRequest.js';
import type { SetGroupLimitsRequest__Output } from '../../../shared/grpc/generated/lts/v1/SetGroupLimitsRequest.js';
import type { UndrainNodeRequest__Output } from '../../../shared/grpc/generated/lts/v1/UndrainNodeRequest.js';
import type { Handlers } from '../../../shared/grpc/handlers.js';
import { isId } from '../../../shared/ids.js';
import { groupForm, taskIdForm } from '../../../shared/job/check-job.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { LimitSetting } from '../dispatch/limit-setting.js';
import type { WorkerDirectory } from '../dispatch/worker-directory.js';
import { explainInstance, explainSchedule, explainStore, explainTracker } from '../explain/explain.js';
import type { ClientMasters } from '../feedback/client-masters.js';
import type { FeedbackDelivery } from '../feedback/feedback-delivery.js';
import type { UnclaimedFeedback } from '../feedback/unclaimed-feedback.js';
import type { NodeDrain } from '../lead/node-drain.js';
import type { Ownership } from '../lead/ownership.js';
import { type InstanceState, states } from '../queue/instance-state.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { QueueStore, ScheduleRow } from '../queue/queue-store.js';
import type { Searches } from '../queue/searches.js';
import type { InstanceRow } from '../queue/status-queries.js';
import { toJobResult } from './feedback-service.js';
import { fitText, textLimit } from './fit-texts.js';
import { toLimitChange, toLimits } from './limit-views.js';
import { listNodes, type TrackerFacts } from './node-list.js';
import { toAttempt, toInstance, toLogLine, toQueue } from './status-views.js';

/** What status is drawn from. */
export interface AdminParts {
  store: QueueStore;
  searches: Searches;
  groups: OwnedGroups;
  directory: WorkerDirectory;
  delivery: FeedbackDelivery;
  unclaimed: UnclaimedFeedback;
  clientMasters: ClientMasters;
  limits: LimitSetting;
  ownership: Ownership;
  drain: NodeDrain;
  /** Ids of the live runs of a schedule that are not held, where the schedule limits how many there are. */
  going(nodeGroup: string, taskId: string): string[];
  /** host:port of the other trackers that own partitions: what they alone know is not shown here. */
  missing(): string[];
  clusterStatus(): Promise<GetClusterResponse>;
  trackers(): TrackerFacts[];
  clock: Clock;
}

type Target = Pick<GetInstanceRequest__Output, 'instance_id' | 'task_id' | 'node_group'>;

/**
 * AdminService: status for people. Reads only, apart from ResendFeedback, SetGroupLimits and the drains. What only the
 * owner of an instance knows is answered by it alone (NOT_OWNER names it); the store's rows by any owner.
 */
export function adminService(handlers: Handlers, parts: AdminParts): Record<string, UntypedHandleCall> {
  const { store, groups, directory, delivery, unclaimed, limits, ownership, drain, clock } = parts;
  const find = (target: Target): Promise<InstanceRow> => findInstance(parts, target);
  const unary = <Req, Res>(handle: (request: Req) => Promise<Res>): UntypedHandleCall => handlers.unary<Req, Res>(handle) as UntypedHandleCall;
  return {
    GetInstance: unary(async (request: Target) => {
      const row = await find(request);
      // Its owner knows how far it is.
      if (row.state === 'EXECUTING' || row.state === 'CANCELLING') requireNoOtherOwner(parts, row.nodeGroup);
      return { instance: toInstance(row, groups) };
    }),
    ListInstances: unary(async (request: ListInstancesRequest__Output) => {
      ownership.requireAccepting();
      const page = await store.listInstances({
        nodeGroup: request.node_group,
        taskId: request.task_id,
        states: request.states.map(toState),
        before: pageToken(request.page_token),
        limit: pageSize(request.page_size, 50, 1_000),
      });
      return { instances: page.rows.map((row) => toInstance(row, groups)), next_page_token: page.nextBefore === undefined ? '' : String(page.nextBefore) };
    }),
    ListAttempts: unary(async ({ instance_id }: ListAttemptsRequest__Output) => {
      const { id } = await find({ instance_id, task_id: '', node_group: '' });
      const rows = await store.listAttempts(id);
      const most = textLimit(2 * rows.length);
      return { attempts: rows.map((row) => toAttempt(row, most)) };
    }),
    ListLogs: unary(async (request: ListLogsRequest__Output) => {
      if (request.attempt < 0) throw new LtsError('INVALID_ARGUMENT', `attempt is ${request.attempt}; use its number, or 0 for all`);
      const [after, limit] = [pageToken(request.page_token) ?? 0, pageSize(request.page_size, 1_000, 10_000)];
      const { id } = await find({ instance_id: request.instance_id, task_id: '', node_group: '' });
      const page = await store.listLogs(id, request.attempt, after, limit);
      return { lines: page.rows.map(toLogLine), next_page_token: page.nextAfter === undefined ? '' : String(page.nextAfter) };
    }),
    ListQueues: unary(async ({ node_group }: ListQueuesRequest__Output) => {
      ownership.requireAccepting();
      const feedback = await store.countFeedback();
      const names = new Set([...groups.groups.keys(), ...feedback.map((row) => row.submitNodeGroup), ...[...directory.all()].map((worker) => worker.group)]);
      const wanted = [...names].filter((name) => node_group === '' || name === node_group).sort();
      return { queues: wanted.map((name) => toQueue(name, groups, directory, feedback.find((row) => row.submitNodeGroup === name), unclaimed.all().find((each) => each.submitNodeGroup === name)?.since)), missing: parts.missing() };
    }),
    SetGroupLimits: unary(async (request: SetGroupLimitsRequest__Output) => ({ limits: toLimits(await limits.set(request.node_group, toLimitChange(request))) ?? {} })),
    ListNodes: unary(async () => ({ nodes: listNodes(parts), missing: parts.missing() })),
    DrainNode: unary(async ({ node_id }: DrainNodeRequest__Output) => ({ changed: await drain.drain(node_id) })),
    UndrainNode: unary(async ({ node_id }: UndrainNodeRequest__Output) => ({ changed: await drain.undrain(node_id) })),
    GetCluster: unary(() => parts.clusterStatus()),
    ExplainInstance: unary(async (request: Target) => {
      const cause = explainStore(await store.health()) ?? (ownership.serving ? undefined : explainTracker(ownership, ''));
      if (cause !== undefined) return { instance_id: request.instance_id, state: 'INSTANCE_STATE_UNSPECIFIED' as const, causes: [cause] };
      checkTarget(request);
      const schedule = request.instance_id === '' ? await store.findSchedule(request.node_group, request.task_id) : undefined;
      const row = await (schedule === undefined ? find(request) : newestOf(parts, request));
      if (row === undefined || (schedule !== undefined && row.endedAt !== 0)) return explainSchedule(schedule as ScheduleRow, clock.now());
      requireNoOtherOwner(parts, row.nodeGroup);
      if (!groups.isOpen(groups.partitionOf(row.nodeGroup))) return { instance_id: row.id, state: `INSTANCE_STATE_${row.state}` as const, causes: [explainTracker(ownership, row.nodeGroup)] };
      return explainInstance(store, row, groups, directory.ofGroup(row.nodeGroup), parts.going(row.nodeGroup, row.taskId), clock);
    }),
    ListFeedback: unary(async (request: ListFeedbackRequest__Output) => {
      ownership.requireAccepting();
      const rows = await store.listFeedback(request.submit_node_group, request.dead_only, pageSize(request.page_size, 100, 1_000));
      const most = textLimit(rows.length);
      const nobody = unclaimed.all().filter((each) => request.submit_node_group === '' || each.submitNodeGroup === request.submit_node_group);
      return {
        entries: rows.map((row) => ({ result: toJobResult({ ...row, message: fitText(row.message, most) }), dead: row.dead, next_at: row.nextAt, last_error: row.lastError })),
        unclaimed: nobody.map(({ submitNodeGroup, owed, since }) => ({ submit_node_group: submitNodeGroup, owed, since })),
      };
    }),
    ResendFeedback: unary(async ({ feedback_ids, submit_node_group }: ResendFeedbackRequest__Output) => {
      ownership.requireAccepting();
      if (feedback_ids.length === 0 && submit_node_group === '') throw new LtsError('INVALID_ARGUMENT', 'neither feedback_ids nor submit_node_group is given; name one');
      const ids = feedback_ids.filter(isId);
      // Ids of which none can be are no request for the whole group.
      const resent = ids.length === 0 && feedback_ids.length > 0 ? 0 : await store.resendFeedback(ids, submit_node_group, clock.now());
      delivery.sweep();
      return { resent };
    }),
  };
}

/** Throws NOT_OWNER when the group is another tracker's, so that the caller goes there. */
function requireNoOtherOwner({ groups, ownership }: AdminParts, nodeGroup: string): void {
  if (groups.isOpen(groups.partitionOf(nodeGroup))) return;
  const error = ownership.notOwner(nodeGroup);
  if (error.owner !== undefined && error.owner !== '') throw error;
}

/** Throws INVALID_ARGUMENT. */
function checkTarget({ instance_id, task_id, node_group }: Target): void {
  if (instance_id !== '' && !isId(instance_id)) throw new LtsError('INVALID_ARGUMENT', `instance_id is ${quoted(instance_id)}; use the UUIDv7 that submit gave`);
  if (instance_id === '' && (!taskIdForm.test(task_id) || !groupForm.test(node_group))) {
    throw new LtsError('INVALID_ARGUMENT', `task_id is ${quoted(task_id)} and node_group ${quoted(node_group)}; give both as they were submitted, or instance_id`);
  }
}

/** The newest instance of a task, whether it lives or not. */
function newestOf({ store, searches }: Pick<AdminParts, 'store' | 'searches'>, { task_id, node_group }: Target): Promise<InstanceRow | undefined> {
  return searches.run(() => store.findInstance({ taskId: task_id, nodeGroup: node_group }));
}

async function findInstance(parts: Pick<AdminParts, 'store' | 'searches' | 'ownership'>, request: Target): Promise<InstanceRow> {
  const { store, ownership } = parts;
  ownership.requireAccepting();
  checkTarget(request);
  const { instance_id, task_id, node_group } = request;
  const row = await (instance_id === '' ? newestOf(parts, request) : store.findInstance({ id: instance_id }));
  if (row !== undefined) return row;
  if (instance_id === '' && (await store.findSchedule(node_group, task_id)) !== undefined) {
    throw new LtsError('INSTANCE_NOT_FOUND', `task ${task_id} of group ${node_group} is a schedule of which no run is kept yet; see "lts schedule get"`);
  }
  const named = instance_id === '' ? `task ${task_id} of group ${node_group}` : `instance ${instance_id}`;
  throw new LtsError('INSTANCE_NOT_FOUND', `there is no ${named}; check the id, or it is older than the retention`);
}

/** A number that the contract does not name arrives as a number, not as a name. */
function toState(name: unknown): InstanceState {
  const state = String(name).replace('INSTANCE_STATE_', '');
  if (!(states as readonly string[]).includes(state)) throw new LtsError('INVALID_ARGUMENT', `states has ${quoted(String(name))}; use the names of InstanceState`);
  return state as InstanceState;
}

function pageSize(asked: number, usual: number, most: number): number {
  if (asked < 0 || asked > most) throw new LtsError('INVALID_ARGUMENT', `page_size is ${asked}; use 1 to ${most}, or 0 for ${usual}`);
  return asked === 0 ? usual : asked;
}

function pageToken(token: string): number | undefined {
  if (token === '') return undefined;
  const value = Number(token);
  if (!/^\d{1,16}$/.test(token) || !Number.isSafeInteger(value)) throw new LtsError('INVALID_ARGUMENT', `page_token is ${quoted(token)}; use next_page_token of the page before`);
  return value;
}
