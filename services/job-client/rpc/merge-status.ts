import type { Node__Output } from '../../../shared/grpc/generated/lts/v1/Node.js';
import type { Queue__Output } from '../../../shared/grpc/generated/lts/v1/Queue.js';

const kinds = ['NODE_KIND_JOB_TRACKER', 'NODE_KIND_TASK_TRACKER', 'NODE_KIND_JOB_CLIENT'];

/**
 * One list of what several trackers see. A tracker knows most of itself; a worker that moves is seen by two for a
 * moment; a receiver has a stream to each tracker and counts once, with all that is out to it. A tracker that did not
 * answer, one of `missing` by its host:port, is known to others only.
 */
export function mergeNodes(lists: readonly (readonly Node__Output[])[], missing: readonly string[]): Node__Output[] {
  const byName = new Map<string, Node__Output>();
  for (const node of lists.flat()) {
    const name = JSON.stringify([node.kind, node.incarnation, node.node_id, node.node_group]);
    const known = byName.get(name);
    byName.set(name, known === undefined ? node : mergeNode(known, node));
  }
  const shown = [...byName.values()].map((node): Node__Output => (node.kind === 'NODE_KIND_JOB_TRACKER' && missing.includes(node.address) ? { ...node, state: 'NODE_STATE_UNREACHABLE' } : node));
  return shown.toSorted((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind) || compare(a.node_group, b.node_group) || compare(a.node_id, b.node_id));
}

function mergeNode(a: Node__Output, b: Node__Output): Node__Output {
  if (a.kind === 'NODE_KIND_JOB_CLIENT') return { ...a, running: a.running + b.running, since: Math.min(a.since, b.since), ...(b.master ? { master: true, master_token: b.master_token } : {}) };
  const lost = a.state === 'NODE_STATE_LOST' && b.state !== 'NODE_STATE_LOST';
  return lost || (a.pid === 0 && b.pid !== 0) ? b : a;
}

/** One list of the queues: each group is owned by one tracker; what is owed is read from the store, which all share. */
export function mergeQueues(lists: readonly (readonly Queue__Output[])[]): Queue__Output[] {
  const byGroup = new Map<string, Queue__Output>();
  for (const queue of lists.flat()) {
    const known = byGroup.get(queue.node_group);
    byGroup.set(queue.node_group, known === undefined ? queue : mergeQueue(known, queue));
  }
  return [...byGroup.values()].toSorted((a, b) => compare(a.node_group, b.node_group));
}

function mergeQueue(a: Queue__Output, b: Queue__Output): Queue__Output {
  return {
    ...a,
    waiting: a.waiting + b.waiting,
    ready: a.ready + b.ready,
    executing: a.executing + b.executing,
    oldest_ready_at: a.oldest_ready_at === 0 || b.oldest_ready_at === 0 ? a.oldest_ready_at + b.oldest_ready_at : Math.min(a.oldest_ready_at, b.oldest_ready_at),
    workers: a.workers + b.workers,
    free_slots: a.free_slots + b.free_slots,
    feedback: Math.max(a.feedback, b.feedback),
    feedback_dead: Math.max(a.feedback_dead, b.feedback_dead),
    limits: a.limits ?? b.limits,
    feedback_unclaimed_since: Math.max(a.feedback_unclaimed_since, b.feedback_unclaimed_since),
  };
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
