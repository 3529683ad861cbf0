import type { Member } from '../../../shared/registry/registry.js';

/** Which tracker owns which partition, as the leader writes it into the registry. */
export interface Assignment {
  /** node id of the leader that wrote it, and its place in the election. */
  leader: { nodeId: string; sequence: number };
  trackers: AssignedTracker[];
  /** node id per partition; "" for none. */
  owners: string[];
}

/** One live tracker of an assignment. */
export interface AssignedTracker {
  nodeId: string;
  incarnation: string;
  address: string;
}

/** What the leader knows when it assigns. */
export interface AssignmentInput {
  leader: { nodeId: string; sequence: number };
  members: readonly Member[];
  previous: Assignment | undefined;
  partitions: number;
  /** Whether several trackers share the partitions; otherwise one has them all (a store with one writer). */
  spread: boolean;
  /** 0 for a tracker that takes partitions gladly; those with a greater number get some only when all others are as reluctant. */
  reluctance: (tracker: AssignedTracker) => number;
}

/**
 * Who gets which partition: even, sticky, with the fewest moves.
 *
 * Even means counts of partitions, which differ by one at most. A partition is a hash slice of all node groups, and the
 * leader sees the work of its own slices only: a weight made of that would favour it, and true weights would cost
 * writes to the registry. A partition stays with its owner as long as the same process lives, so that a new leader
 * alone moves nothing; a process start is a new tracker, also under an old node id.
 */
export function assign({ leader, members, previous, partitions, spread, reluctance }: AssignmentInput): Assignment {
  const trackers = newestPerNode(members);
  const least = Math.min(...trackers.map(reluctance));
  const candidates = trackers.filter((tracker) => reluctance(tracker) === least);
  const before = previousOwners(previous, candidates, partitions);
  const owners = spread ? share(before, candidates) : before.fill(soleOwner(before, candidates, leader.nodeId));
  return { leader, trackers, owners };
}

/** Of processes that share a node id the one that started last: an earlier one is dead, or about to be found so. */
export function newestPerNode(members: readonly Member[]): AssignedTracker[] {
  const newest = new Map<string, AssignedTracker>();
  for (const { nodeId, incarnation, address } of members) {
    const known = newest.get(nodeId);
    if (known === undefined || known.incarnation < incarnation) newest.set(nodeId, { nodeId, incarnation, address });
  }
  return [...newest.values()].sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1));
}

/** The owner of each partition that may keep it; "" where there is none. */
function previousOwners(previous: Assignment | undefined, candidates: readonly AssignedTracker[], partitions: number): string[] {
  const lived = new Set(previous?.trackers.map(({ nodeId, incarnation }) => `${nodeId} ${incarnation}`));
  const keeping = new Set(candidates.filter(({ nodeId, incarnation }) => lived.has(`${nodeId} ${incarnation}`)).map(({ nodeId }) => nodeId));
  return Array.from({ length: partitions }, (_, partition) => {
    const owner = previous?.owners[partition] ?? '';
    return keeping.has(owner) ? owner : '';
  });
}

function soleOwner(before: readonly string[], candidates: readonly AssignedTracker[], leader: string): string {
  const stays = before.find((owner) => owner !== '');
  return stays ?? candidates.find(({ nodeId }) => nodeId === leader)?.nodeId ?? candidates[0]?.nodeId ?? '';
}

/** Takes from each what is above its share, and gives what is free to those below. Who has most keeps most. */
function share(before: readonly string[], candidates: readonly AssignedTracker[]): string[] {
  const held = new Map(candidates.map(({ nodeId }) => [nodeId, 0]));
  for (const owner of before) if (owner !== '') held.set(owner, (held.get(owner) ?? 0) + 1);
  const least = Math.floor(before.length / held.size);
  const oneMore = before.length % held.size;
  const room = new Map([...held].sort(([, a], [, b]) => b - a).map(([nodeId], place) => [nodeId, least + (place < oneMore ? 1 : 0)]));
  const after = before.map((owner) => (owner !== '' && take(room, owner) ? owner : ''));
  return after.map((owner) => owner || [...room.keys()].find((nodeId) => take(room, nodeId)) || '');
}

function take(room: Map<string, number>, nodeId: string): boolean {
  const left = room.get(nodeId) ?? 0;
  room.set(nodeId, Math.max(left - 1, 0));
  return left > 0;
}

/** Whether two assignments say the same apart from who wrote them. */
export function sameAssignment(a: Assignment | undefined, b: Assignment): boolean {
  return a !== undefined && JSON.stringify([a.trackers, a.owners, a.leader]) === JSON.stringify([b.trackers, b.owners, b.leader]);
}
