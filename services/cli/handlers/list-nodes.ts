import type { Node__Output } from '../../../shared/grpc/generated/lts/v1/Node.js';
import type { ClientHandler } from '../command.js';
import { formatTime, shortName } from '../output.js';

/** lts node list: trackers, workers and receivers of results. */
export const listNodes: ClientHandler<object> = async ({ target, output }) => {
  const { nodes } = await target.call<{ nodes: Node__Output[] }>((clients, call, answer) => clients.admin.listNodes({}, call, answer));
  output.data(nodes, () => ({
    head: ['kind', 'node', 'group', 'state', 'running', 'slots', 'address', 'host', 'pid', 'since', 'version'],
    rows: nodes.map((node) => [
      shortName(node.kind, 'NODE_KIND'),
      node.node_id,
      node.node_group,
      shortName(node.state, 'NODE_STATE'),
      node.running,
      node.work_threads,
      node.address,
      node.host,
      node.pid,
      formatTime(node.since),
      node.version,
    ]),
  }));
  return 'ok';
};
