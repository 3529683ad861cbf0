import type { GetClusterResponse__Output } from '../../../shared/grpc/generated/lts/v1/GetClusterResponse.js';
import type { ClientHandler } from '../command.js';
import { formatRecord, formatRows } from '../output.js';

/** lts cluster: who is there, who owns what, and whether something is wrong. */
export const showCluster: ClientHandler<object> = async ({ target, output }) => {
  const cluster = await target.call<GetClusterResponse__Output>((clients, call, answer) => clients.admin.getCluster({}, call, answer));
  output.data(cluster, () => [describe(cluster), formatRows(trackerRows(cluster))].join('\n\n'));
  return 'ok';
};

function describe(cluster: GetClusterResponse__Output): string {
  return formatRecord([
    ['cluster', cluster.cluster],
    ['answered by', cluster.node_id],
    ['state', cluster.degraded ? 'DEGRADED' : 'OK'],
    ['registry', cluster.registry],
    ['store', `${cluster.store}${cluster.store_message === '' ? '' : `: ${cluster.store_message}`}`],
    ...cluster.store_warnings.map(({ reason, message }): [string, string] => ['store warning', `${reason}: ${message}`]),
    ['store id', cluster.store_id],
    ['store clock', `${cluster.store_clock_offset_ms} ms from this tracker's`],
    ['map', `version ${cluster.map?.version ?? 0}, ${cluster.map?.partitions ?? 0} partitions`],
    ['owned here', cluster.owned.length],
  ]);
}

function trackerRows({ map }: GetClusterResponse__Output): { head: string[]; rows: (string | number)[][] } {
  const owners = map?.owners ?? [];
  return {
    head: ['tracker', 'address', 'leader', 'partitions'],
    rows: (map?.trackers ?? []).map((tracker) => [
      tracker.node_id,
      tracker.address,
      tracker.leader ? 'yes' : '',
      owners.filter((owner) => owner.node_id === tracker.node_id).length,
    ]),
  };
}
