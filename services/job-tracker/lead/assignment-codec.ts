import { z } from 'zod';
import type { AssignedTracker, Assignment } from './assign.js';

/** What is read from the registry is untrusted: bounded, and checked for its form. */
const tracker = z.object({ nodeId: z.string().max(128), incarnation: z.string().max(64), address: z.string().max(300) });
const mostTrackers = 1_000;
const schema = z.object({
  leader: z.object({ nodeId: z.string().max(128), sequence: z.number().int() }),
  trackers: z.array(tracker).max(mostTrackers),
  owners: z.array(z.string().max(128)).max(4_096),
});

/** Those that an assignment can name: one that the readers refuse would leave everything without an owner. */
export function assignable<T extends AssignedTracker>(members: readonly T[]): T[] {
  return members.filter((member) => tracker.safeParse(member).success).slice(0, mostTrackers);
}

export function encodeAssignment(assignment: Assignment): Uint8Array {
  return Buffer.from(JSON.stringify(assignment), 'utf8');
}

/** The assignment; undefined for bytes that are none. */
export function decodeAssignment(bytes: Uint8Array): Assignment | undefined {
  try {
    return schema.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  } catch {
    return undefined;
  }
}
