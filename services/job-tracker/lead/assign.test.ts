import { describe, expect, it } from 'vitest';
import type { Member } from '../../../shared/registry/registry.js';
import { assign, type Assignment } from './assign.js';

const member = (nodeId: string, incarnation = `${nodeId}-1`): Member => ({
  kind: 'job-tracker',
  nodeId,
  incarnation,
  nodeGroup: '',
  address: `127.0.0.1:${nodeId.length}`,
  version: '1',
  startedAt: 0,
});
const leader = { nodeId: 'a', sequence: 7 };
const owned = (by: string, ...members: Member[]): Assignment => ({ leader, trackers: members, owners: [by, by] });

describe('assign', () => {
  it('gives all partitions to the leader at first', () => {
    expect(assign({ leader, members: [member('b'), member('a')], previous: undefined, partitions: 2 }).owners).toEqual(['a', 'a']);
  });

  it('moves nothing while the owner lives', () => {
    const members = [member('a'), member('b')];
    expect(assign({ leader, members, previous: owned('b', ...members), partitions: 2 }).owners).toEqual(['b', 'b']);
  });

  it('takes a restarted owner for a new tracker', () => {
    const previous = owned('b', member('a'), member('b'));
    expect(assign({ leader, members: [member('a'), member('b', 'b-2')], previous, partitions: 2 }).owners).toEqual(['a', 'a']);
  });

  it('leaves partitions without an owner when nobody is there', () => {
    expect(assign({ leader, members: [], previous: undefined, partitions: 2 }).owners).toEqual(['', '']);
  });
});
