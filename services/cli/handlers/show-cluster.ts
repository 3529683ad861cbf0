import type { GetClusterResponse__Output } from '../../../shared/grpc/generated/lts/v1/GetClusterResponse.js';
import { formatRanges } from '../../../shared/ranges.js';
import { tzdataDiffers } from '../../../shared/schedule/tzdata.js';
import type { ClientHandler } from '../command.js';
import { formatRecord, formatRows, formatTime } from '../output.js';

type Cluster = GetClusterResponse__Output;

/** lts cluster: who is there, who owns what, and whether something is wrong. */
export const showCluster: ClientHandler<object> = async ({ target, output }) => {
  const cluster = await target.call<Cluster>((clients, call, answer) => clients.admin.getCluster({}, call, answer));
  output.data(cluster, () => [describe(cluster), formatRows(trackerRows(cluster)), ...drainedNodes(cluster)].join('\n\n'));
  const apart = tzdataDiffers(cluster.tzdata.map(({ node_id, version }) => [node_id, version]));
  if (apart !== undefined) output.message(apart);
  return 'ok';
};

function describe(cluster: Cluster): string {
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
    ['without owner', formatRanges(ownerless(cluster))],
    ['moving', formatRanges(moving(cluster))],
    ...cluster.repairs.map(({ kind, count, last_at: lastAt }): [string, string] => ['repaired', `${kind}: ${count}, last ${formatTime(lastAt)}`]),
  ]);
}

function assigned({ map }: Cluster): Map<number, string> {
  return new Map((map?.owners ?? []).map(({ partition, node_id }) => [partition, node_id]));
}

/** Assigned to nobody, and held by nobody. */
function ownerless(cluster: Cluster): number[] {
  const owners = assigned(cluster);
  return cluster.holders.filter(({ partition, node_id }) => node_id === '' && !owners.has(partition)).map(({ partition }) => partition);
}

/** The store shows another holder than the map, or none yet. */
function moving(cluster: Cluster): number[] {
  const owners = assigned(cluster);
  return cluster.holders.filter(({ partition, node_id }) => owners.has(partition) && owners.get(partition) !== node_id).map(({ partition }) => partition);
}

function trackerRows({ map, holders, drained, tzdata }: Cluster): { head: string[]; rows: (string | number)[][] } {
  return {
    head: ['tracker', 'address', 'leader', 'drained', 'partitions', 'owns', 'epochs', 'tzdata'],
    rows: (map?.trackers ?? []).map((tracker) => {
      const held = holders.filter(({ node_id }) => node_id === tracker.node_id);
      const isDrained = drained.some(({ node_id }) => node_id === tracker.node_id);
      return [tracker.node_id, tracker.address, tracker.leader ? 'yes' : '', isDrained ? 'yes' : '', held.length, formatRanges(held.map(({ partition }) => partition)), formatEpochs(held.map(({ epoch }) => epoch)), tzdata.find(({ node_id }) => node_id === tracker.node_id)?.version ?? ''];
    }),
  };
}

/** The lowest and the highest: a partition that moved often stands out. */
function formatEpochs(epochs: readonly number[]): string {
  if (epochs.length === 0) return '';
  const [least, most] = [Math.min(...epochs), Math.max(...epochs)];
  return least === most ? `${least}` : `${least}..${most}`;
}

function drainedNodes({ drained, drain_ignored: ignored }: Cluster): string[] {
  if (drained.length === 0) return [];
  const table = formatRows({ head: ['drained node', 'since'], rows: drained.map(({ node_id, since }) => [node_id, formatTime(since)]) });
  return ignored ? [table, 'All trackers are drained: the partitions stay with them all the same.'] : [table];
}
