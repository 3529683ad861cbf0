import { z } from 'zod';
import { LtsError } from '../errors/lts-error.js';
import type { Member } from './registry.js';
import { memberKinds } from './registry.js';

/** Most bytes of one encoded member. */
export const maxMemberBytes = 4096;

// No control characters: the texts end up in logs and terminals.
const text = (least: number, most: number) => z.string().min(least).max(most).regex(/^\P{Cc}*$/u, 'has control characters');

const schema = z.object({
  kind: z.enum(memberKinds),
  nodeId: text(1, 256),
  incarnation: z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'is not 1 to 64 letters, digits or "-"'),
  nodeGroup: text(0, 256),
  address: z.string().max(300).regex(/^$|^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):\d{1,5}$/, 'is no host:port'),
  version: text(0, 64),
  startedAt: z.int().min(0),
  tzdata: text(0, 64).optional(),
});

/** The member, when every field is within its bounds; INVALID_ARGUMENT otherwise. Unknown fields are left out. */
export function checkMember(member: unknown): Member {
  const result = schema.safeParse(member);
  if (result.success) return result.data;
  const problems = result.error.issues.slice(0, 5).map((issue) => `${issue.path.join('.') || 'member'} ${issue.message}`);
  throw new LtsError('INVALID_ARGUMENT', `not a member: ${problems.join('; ')}`);
}

/** The bytes that the registry keeps. */
export function encodeMember(member: Member): Buffer {
  const bytes = Buffer.from(JSON.stringify(checkMember(member)));
  if (bytes.length > maxMemberBytes) throw new LtsError('INVALID_ARGUMENT', `member ${member.nodeId} has ${bytes.length} bytes: at most ${maxMemberBytes}`);
  return bytes;
}

/** A member from bytes that anybody may have written. INVALID_ARGUMENT when they are none. */
export function decodeMember(bytes: Uint8Array | null | undefined): Member {
  if (!bytes || bytes.byteLength > maxMemberBytes) throw new LtsError('INVALID_ARGUMENT', `not a member: ${bytes?.byteLength ?? 'no'} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  } catch (error) {
    throw new LtsError('INVALID_ARGUMENT', 'not a member: no JSON', { cause: error });
  }
  return checkMember(value);
}

/** Order in which members are listed: by node, then by incarnation. */
export function compareMembers(a: Member, b: Member): number {
  return a.nodeId < b.nodeId ? -1 : a.nodeId > b.nodeId ? 1 : a.incarnation < b.incarnation ? -1 : a.incarnation > b.incarnation ? 1 : 0;
}
