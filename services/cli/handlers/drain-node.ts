import type { ClientHandler } from '../command.js';

/** lts node drain: the node gets no more work. */
export const drainNode: ClientHandler<object> = async ({ args, target, output }) => {
  const request = { node_id: args[0] ?? '' };
  const answer = await target.call<{ changed: boolean }>((clients, call, done) => clients.admin.drainNode(request, call, done));
  output.data(answer, () => (answer.changed ? `${request.node_id} is drained: it gets no more work; see lts node list` : `${request.node_id} was drained already`));
  return 'ok';
};

/** lts node undrain: it gets work again. */
export const undrainNode: ClientHandler<object> = async ({ args, target, output }) => {
  const request = { node_id: args[0] ?? '' };
  const answer = await target.call<{ changed: boolean }>((clients, call, done) => clients.admin.undrainNode(request, call, done));
  output.data(answer, () => (answer.changed ? `${request.node_id} gets work again` : `${request.node_id} was not drained`));
  return 'ok';
};
