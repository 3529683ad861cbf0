import type { Node__Output } from '../../../shared/grpc/generated/lts/v1/Node.js';
import { tzdataDiffers } from '../../../shared/schedule/tzdata.js';
import type { ClientHandler } from '../command.js';
import { tellMissing } from '../missing.js';
import { formatTime, shortName } from '../output.js';

/** A clock that is further from the store's is a fault. */
const apartMs = 5_000;

/** lts node list: trackers, workers and receivers of results. */
export const listNodes: ClientHandler<object> = async ({ target, output }) => {
  const { nodes, missing } = await target.call<{ nodes: Node__Output[]; missing: string[] }>((clients, call, answer) => clients.admin.listNodes({}, call, answer));
  output.data(nodes, () => ({
    head: ['kind', 'node', 'group', 'state', 'master', 'running', 'slots', 'address', 'host', 'pid', 'since', 'version', 'clock', 'tzdata'],
    rows: nodes.map((node) => [
      shortName(node.kind, 'NODE_KIND'),
      node.node_id,
      node.node_group,
      shortName(node.state, 'NODE_STATE'),
      node.master ? 'yes' : '',
      node.running,
      node.work_threads,
      node.address,
      node.host,
      node.pid,
      formatTime(node.since),
      node.version,
      node._clock_offset === undefined ? '' : formatOffset(node.clock_offset ?? 0),
      node.tzdata,
    ]),
  }));
  for (const { node_id: id, clock_offset: offset = 0 } of nodes) {
    if (Math.abs(offset) > apartMs) output.message(`the clock of ${id} is ${Math.abs(offset)} ms ${offset > 0 ? 'ahead of' : 'behind'} the store's: set it by NTP`);
  }
  const apart = tzdataDiffers(nodes.map(({ node_id, tzdata }) => [node_id, tzdata]));
  if (apart !== undefined) output.message(apart);
  tellMissing(missing, output);
  return 'ok';
};

function formatOffset(ms: number): string {
  return `${ms < 0 ? '' : '+'}${ms} ms`;
}
