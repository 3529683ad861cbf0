import type { Node } from '../../../shared/grpc/generated/lts/v1/Node.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { Worker } from '../dispatch/worker.js';
import type { WorkerDirectory } from '../dispatch/worker-directory.js';
import type { ClientMasters } from '../feedback/client-masters.js';
import type { FeedbackDelivery } from '../feedback/feedback-delivery.js';

/** From here on a worker whose running thread does not answer is shown as BLOCKED. */
const blockedFromMs = 1_000;

/** What a tracker knows of another; of itself it knows more. */
export type TrackerFacts = { nodeId: string; incarnation: string; address: string; drained: boolean; leaving: boolean } & Pick<Node, 'since' | 'version' | 'pid' | 'host' | 'clock_offset' | 'tzdata'>;

/** What the list is drawn from. */
export interface NodeParts {
  trackers: () => readonly TrackerFacts[];
  directory: WorkerDirectory;
  delivery: FeedbackDelivery;
  clientMasters: ClientMasters;
  clock: Clock;
}

/** Trackers, workers and receivers that this tracker knows. */
export function listNodes({ trackers, directory, delivery, clientMasters, clock }: NodeParts): Node[] {
  return [
    ...trackers().map(({ nodeId, drained, leaving, ...facts }): Node => ({ kind: 'NODE_KIND_JOB_TRACKER', node_id: nodeId, state: trackerState(drained, leaving), ...facts })),
    ...[...directory.all()].map((worker) => toNode(worker, directory.masters.tokenOf(worker.group, worker), clock)),
    ...delivery.receivers().map(
      (receiver): Node => ({
        kind: 'NODE_KIND_JOB_CLIENT',
        node_id: receiver.clientId,
        node_group: receiver.submitNodeGroup,
        address: receiver.address,
        state: 'NODE_STATE_ONLINE',
        running: receiver.inFlight.size,
        since: receiver.since,
        ...mastership(clientMasters.tokenOf(receiver.submitNodeGroup, receiver)),
      }),
    ),
  ];
}

function toNode(worker: Worker, masterToken: number, clock: Clock): Node {
  const offset = worker.session?.clock.against(clock);
  return {
    kind: 'NODE_KIND_TASK_TRACKER',
    node_id: worker.identity.nodeId,
    node_group: worker.group,
    incarnation: worker.identity.incarnation,
    address: worker.info.address,
    state: stateOf(worker),
    work_threads: worker.info.workThreads,
    running: worker.executions.size,
    since: worker.since,
    version: worker.info.version,
    pid: worker.info.pid,
    host: worker.info.host,
    ...(offset === undefined ? {} : { clock_offset: offset }),
    ...mastership(masterToken),
  };
}

function mastership(token: number): Pick<Node, 'master' | 'master_token'> {
  return { master: token > 0, master_token: token };
}

function trackerState(drained: boolean, leaving: boolean): NonNullable<Node['state']> {
  if (leaving) return 'NODE_STATE_DRAINING';
  return drained ? 'NODE_STATE_DRAINED' : 'NODE_STATE_ONLINE';
}

function stateOf(worker: Worker): NonNullable<Node['state']> {
  if (worker.session === undefined) return 'NODE_STATE_LOST';
  if (worker.drained) return 'NODE_STATE_DRAINED';
  return worker.session.blockedMs >= blockedFromMs ? 'NODE_STATE_BLOCKED' : 'NODE_STATE_ONLINE';
}
