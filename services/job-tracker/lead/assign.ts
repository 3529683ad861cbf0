import type { Member } from '../../../shared/registry/registry.js';

/** Which tracker owns which partition, as the leader writes it into the registry. */
export interface Assignment {
  /** node id of the leader that wrote it, and its place in the election. */
  leader: { nodeId: string; sequence: number };
  trackers: { nodeId: string; incarnation: string; address: string }[];
  /** node id per partition; "" for none. */
  owners: string[];
}

/** What the leader knows when it assigns. */
export interface AssignmentInput {
  leader: { nodeId: string; sequence: number };
  members: readonly Member[];
  previous: Assignment | undefined;
  partitions: number;
}

/**
 * All partitions to one tracker: the one that has them as long as the same process lives, then the leader itself.
 * Sticky, so that a new leader alone moves nothing.
 */
export function assign({ leader, members, previous, partitions }: AssignmentInput): Assignment {
  const trackers = members
    .map(({ nodeId, incarnation, address }) => ({ nodeId, incarnation, address }))
    .sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1));
  const stays = trackers.find(({ nodeId, incarnation }) => {
    const before = previous?.trackers.find((tracker) => tracker.nodeId === nodeId);
    return before?.incarnation === incarnation && previous?.owners.includes(nodeId);
  });
  const owner = stays ?? trackers.find(({ nodeId }) => nodeId === leader.nodeId) ?? trackers[0];
  return { leader, trackers, owners: Array.from({ length: partitions }, () => owner?.nodeId ?? '') };
}

/** Whether two assignments say the same apart from who wrote them. */
export function sameAssignment(a: Assignment | undefined, b: Assignment): boolean {
  return a !== undefined && JSON.stringify([a.trackers, a.owners, a.leader]) === JSON.stringify([b.trackers, b.owners, b.leader]);
}
