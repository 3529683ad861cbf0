import { describe, expect, it } from 'vitest';
import { compareMembers, decodeMember, encodeMember, maxMemberBytes } from './member-codec.js';
import type { Member } from './registry.js';

const member: Member = { kind: 'task-tracker', nodeId: 'n', incarnation: 'i', nodeGroup: 'g', address: '', version: '1', startedAt: 5 };

describe('members in bytes', () => {
  it('come back as they were, without fields that nobody knows', () => {
    expect(decodeMember(encodeMember(member))).toEqual(member);
    expect(decodeMember(encodeMember({ ...member, tzdata: '2025b' }))).toEqual({ ...member, tzdata: '2025b' });
    expect(decodeMember(Buffer.from(JSON.stringify({ ...member, more: 1 })))).toEqual(member);
  });

  it.each([
    ['nothing', undefined],
    ['no JSON', Buffer.from('{"kind"')],
    ['a list', Buffer.from('[]')],
    ['too many bytes', Buffer.alloc(maxMemberBytes + 1, 32)],
    ['a missing field', Buffer.from(JSON.stringify({ ...member, version: undefined }))],
    ['a wrong type', Buffer.from(JSON.stringify({ ...member, startedAt: '5' }))],
    ['an address that is none', Buffer.from(JSON.stringify({ ...member, address: 'http://a:1/' }))],
    ['time zone rules that are no text', Buffer.from(JSON.stringify({ ...member, tzdata: '2025b\n' }))],
    ['a kind that is none', Buffer.from(JSON.stringify({ ...member, kind: 'admin' }))],
  ])('are refused with %s', (_what, bytes) => {
    expect(() => decodeMember(bytes)).toThrow(expect.objectContaining({ reason: 'INVALID_ARGUMENT' }));
  });

  it('are refused when they would be too long', () => {
    expect(() => encodeMember({ ...member, nodeId: '\u{1F600}'.repeat(128), nodeGroup: '"'.repeat(256), version: 'x'.repeat(65) })).toThrow(/version/);
  });

  it('are listed by node, then by incarnation', () => {
    const list = [
      { ...member, nodeId: 'b' },
      { ...member, nodeId: 'a', incarnation: '2' },
      { ...member, nodeId: 'a', incarnation: '1' },
    ];
    expect(list.toSorted(compareMembers).map(({ nodeId, incarnation }) => nodeId + incarnation)).toEqual(['a1', 'a2', 'bi']);
  });
});
