import { describe, expect, it } from 'vitest';
import type { Node__Output } from '../../../shared/grpc/generated/lts/v1/Node.js';
import type { Queue__Output } from '../../../shared/grpc/generated/lts/v1/Queue.js';
import { mergeNodes, mergeQueues } from './merge-status.js';

const node = (kind: 'JOB_TRACKER' | 'TASK_TRACKER' | 'JOB_CLIENT', node_id: string, more: Partial<Node__Output> = {}): Node__Output => ({
  kind: `NODE_KIND_${kind}`,
  node_id,
  node_group: '',
  incarnation: '',
  address: '',
  state: 'NODE_STATE_ONLINE',
  work_threads: 0,
  running: 0,
  since: 0,
  version: '',
  pid: 0,
  host: '',
  master: false,
  master_token: 0,
  tzdata: '',
  ...more,
});

const queue = (node_group: string, more: Partial<Queue__Output> = {}): Queue__Output => ({
  node_group,
  feedback_unclaimed_since: 0,
  waiting: 0,
  ready: 0,
  executing: 0,
  oldest_ready_at: 0,
  workers: 0,
  free_slots: 0,
  feedback: 0,
  feedback_dead: 0,
  limits: null,
  ...more,
});

describe('mergeNodes', () => {
  it('takes of each tracker what it says of itself', () => {
    const seen = mergeNodes([
      [node('JOB_TRACKER', 'a', { pid: 1 }), node('JOB_TRACKER', 'b')],
      [node('JOB_TRACKER', 'a'), node('JOB_TRACKER', 'b', { pid: 2 })],
    ], []);
    expect(seen.map(({ node_id, pid }) => [node_id, pid])).toEqual([['a', 1], ['b', 2]]);
  });

  it('shows a tracker that did not answer as such, whatever others know of it', () => {
    const lists = [[node('JOB_TRACKER', 'a', { address: 'a:1' }), node('JOB_TRACKER', 'b', { address: 'b:1', state: 'NODE_STATE_DRAINED' }), node('TASK_TRACKER', 'w', { address: 'b:1' })]];
    expect(mergeNodes(lists, ['b:1']).map(({ node_id, state }) => [node_id, state.replace('NODE_STATE_', '')])).toEqual([['a', 'ONLINE'], ['b', 'UNREACHABLE'], ['w', 'ONLINE']]);
  });

  it('shows a worker that moves once, where it is connected, and two starts of a node apart', () => {
    const seen = mergeNodes([
      [node('TASK_TRACKER', 'w', { incarnation: 'i1', state: 'NODE_STATE_LOST' }), node('TASK_TRACKER', 'w', { incarnation: 'i2' })],
      [node('TASK_TRACKER', 'w', { incarnation: 'i1', running: 3 })],
    ], []);
    expect(seen.map(({ incarnation, state, running }) => [incarnation, state, running])).toEqual([['i1', 'NODE_STATE_ONLINE', 3], ['i2', 'NODE_STATE_ONLINE', 0]]);
  });

  it('counts a receiver once, with all that is out to it', () => {
    const seen = mergeNodes([[node('JOB_CLIENT', 'c', { running: 2, since: 20 })], [node('JOB_CLIENT', 'c', { running: 3, since: 10, master: true, master_token: 7 }), node('JOB_CLIENT', 'd')]], []);
    expect(seen).toMatchObject([{ node_id: 'c', running: 5, since: 10, master: true, master_token: 7 }, { node_id: 'd' }]);
  });

  it('puts trackers first, then workers, then receivers', () => {
    const seen = mergeNodes([[node('JOB_CLIENT', 'x'), node('TASK_TRACKER', 'x')], [node('JOB_TRACKER', 'x')]], []);
    expect(seen.map(({ kind }) => kind)).toEqual(['NODE_KIND_JOB_TRACKER', 'NODE_KIND_TASK_TRACKER', 'NODE_KIND_JOB_CLIENT']);
  });
});

describe('mergeQueues', () => {
  it('takes the queues of each group from its owner, and what is owed once', () => {
    const seen = mergeQueues([
      [queue('a', { ready: 3, oldest_ready_at: 50, workers: 1 }), queue('clients', { feedback: 4, feedback_dead: 1 })],
      [queue('b', { waiting: 2 }), queue('clients', { feedback: 4, feedback_dead: 1 }), queue('a')],
    ]);
    expect(seen).toMatchObject([
      { node_group: 'a', ready: 3, oldest_ready_at: 50, workers: 1 },
      { node_group: 'b', waiting: 2 },
      { node_group: 'clients', feedback: 4, feedback_dead: 1 },
    ]);
  });
});
