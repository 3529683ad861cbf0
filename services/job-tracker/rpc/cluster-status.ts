import type { LtsError } from '../../../shared/errors/lts-error.js';
import type { GetClusterResponse } from '../../../shared/grpc/generated/lts/v1/GetClusterResponse.js';
import { isGood, type RegistryState } from '../../../shared/registry/registry.js';
import type { ClusterView } from '../lead/cluster-view.js';
import type { DrainedNodes } from '../lead/drained-nodes.js';
import type { NodeDrain } from '../lead/node-drain.js';
import type { Ownership } from '../lead/ownership.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { QueueStore, StoredOwner } from '../queue/queue-store.js';
import type { Repairs } from '../recover/repairs.js';

/** What the picture of the cluster is drawn from. */
export interface ClusterFacts {
  cluster: string;
  nodeId: string;
  view: ClusterView;
  groups: OwnedGroups;
  ownership: Ownership;
  /** Why no commit passes. */
  commitTrouble: LtsError | undefined;
  drained: DrainedNodes;
  drain: NodeDrain;
  registry: RegistryState;
  store: QueueStore;
  repairs: Repairs;
}

/** Map, ownership, store and registry as they are now. */
export async function clusterStatus({ cluster, nodeId, view, groups, ownership, commitTrouble, drained, drain, registry, store, repairs }: ClusterFacts): Promise<GetClusterResponse> {
  const health = await store.health();
  const holders = health.state === 'AWAY' ? [] : await holdersOf(store);
  const trouble = ownership.trouble ?? commitTrouble;
  const storeState = trouble?.reason === 'STORE_LOCKED' ? 'LOCKED' : health.state;
  return {
    cluster,
    map: view.map,
    node_id: nodeId,
    owned: [...groups.partitions.values()].map(({ partition, epoch }) => ({ partition, epoch })),
    registry,
    store: storeState,
    store_message: trouble?.message ?? health.message,
    store_id: ownership.storeId,
    degraded: !isGood(registry) || trouble !== undefined || (health.state !== 'OK' && health.state !== 'CLOSED') || health.warnings.length > 0,
    store_warnings: health.warnings,
    store_clock_offset_ms: health.clockOffsetMs,
    holders: holders.map((each) => ({ partition: each.partition, epoch: each.epoch, node_id: each.nodeId })),
    drained: drained.byHand.map((node) => ({ node_id: node.nodeId, since: node.since })),
    drain_ignored: drain.ignored,
    tzdata: (view.assignment?.trackers ?? []).map(({ nodeId, incarnation }) => ({ node_id: nodeId, version: view.tzdata.get(incarnation) ?? '' })),
    repairs: repairs.all().map(({ kind, count, lastAt }) => ({ kind, count, last_at: lastAt })),
  };
}

/** Nobody is known to hold anything while the store does not answer; its health tells why. */
function holdersOf(store: QueueStore): Promise<StoredOwner[]> {
  return store.owners().catch(() => []);
}
