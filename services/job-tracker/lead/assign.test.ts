import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Member } from '../../../shared/registry/registry.js';
import { assign, type Assignment, type AssignmentInput } from './assign.js';

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
const next = (input: Partial<AssignmentInput>): Assignment =>
  assign({ leader, members: [], previous: undefined, partitions: 2, spread: true, reluctance: () => 0, ...input });

describe('assign to one owner', () => {
  const alone = (input: Partial<AssignmentInput>): string[] => next({ ...input, spread: false }).owners;

  it('gives all partitions to the leader at first', () => {
    expect(alone({ members: [member('b'), member('a')] })).toEqual(['a', 'a']);
  });

  it('moves nothing while the owner lives', () => {
    const members = [member('a'), member('b')];
    expect(alone({ members, previous: owned('b', ...members) })).toEqual(['b', 'b']);
  });

  it('takes a restarted owner for a new tracker', () => {
    const previous = owned('b', member('a'), member('b'));
    expect(alone({ members: [member('a'), member('b', 'b-2')], previous })).toEqual(['a', 'a']);
  });

  it('leaves a drained owner, and none when all are drained', () => {
    const members = [member('a'), member('b')];
    const previous = owned('b', ...members);
    expect(alone({ members, previous, reluctance: ({ nodeId }) => Number(nodeId === 'b') })).toEqual(['a', 'a']);
    expect(alone({ members, previous, reluctance: () => 1 })).toEqual(['b', 'b']);
    expect(alone({ members, previous, reluctance: ({ nodeId }) => (nodeId === 'b' ? 2 : 1) })).toEqual(['a', 'a']);
  });

  it('leaves partitions without an owner when nobody is there', () => {
    expect(alone({})).toEqual(['', '']);
    expect(next({}).owners).toEqual(['', '']);
  });
});

/** A step in the life of a cluster. */
type Step = { kind: 'join' | 'leave' | 'restart' | 'drain' | 'undrain'; node: string };

const nodes = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const steps = fc.array(fc.record({ kind: fc.constantFrom('join', 'leave', 'restart', 'drain', 'undrain'), node: fc.constantFrom(...nodes) }) as fc.Arbitrary<Step>, { maxLength: 30 });

class World {
  readonly members = new Map<string, Member>();
  readonly drained = new Set<string>();
  #starts = 0;

  play({ kind, node }: Step): void {
    if (kind === 'drain') this.drained.add(node);
    else if (kind === 'undrain') this.drained.delete(node);
    else if (kind === 'leave') this.members.delete(node);
    else if (kind === 'restart' ? this.members.has(node) : !this.members.has(node)) this.members.set(node, member(node, `${node}-${String(++this.#starts).padStart(4, '0')}`));
  }

  get candidates(): string[] {
    const willing = [...this.members.keys()].filter((node) => !this.drained.has(node));
    return willing.length > 0 ? willing : [...this.members.keys()];
  }

  assign(previous: Assignment | undefined, partitions: number): Assignment {
    return next({ members: [...this.members.values()], previous, partitions, reluctance: ({ nodeId }) => Number(this.drained.has(nodeId)) });
  }
}

const countsOf = (owners: readonly string[], names: readonly string[]): number[] => names.map((name) => owners.filter((owner) => owner === name).length);

describe('assign to several owners', () => {
  it('is even, gives all to candidates alone, and moves no more than it must', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 70 }), (played, partitions) => {
        const world = new World();
        let before: Assignment | undefined;
        for (const step of played) {
          const lived = new Map(world.members);
          world.play(step);
          const after = world.assign(before, partitions);
          const { candidates } = world;
          expect(after.owners).toHaveLength(partitions);
          if (candidates.length === 0) expect(after.owners.every((owner) => owner === '')).toBe(true);
          else {
            expect(after.owners.every((owner) => candidates.includes(owner))).toBe(true);
            const counts = countsOf(after.owners, candidates);
            expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
          }
          if (before !== undefined) expect(moved(before, after)).toBe(fewestMoves(before, world, lived));
          before = after;
        }
      }),
      { numRuns: 300 },
    );
  });

  it('says the same twice, in whatever order the members come', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 70 }), (played, partitions) => {
        const world = new World();
        for (const step of played) world.play(step);
        const once = world.assign(undefined, partitions);
        expect(world.assign(once, partitions)).toEqual(once);
        const reversed = [...world.members.values()].reverse();
        expect(next({ members: reversed, partitions, reluctance: ({ nodeId }) => Number(world.drained.has(nodeId)) })).toEqual(once);
      }),
    );
  });

  it('moves at a leave only what the leaver had, at a join only what the joiner gets', () => {
    const members = ['a', 'b', 'c'].map((node) => member(node));
    const three = next({ members, partitions: 16 });
    const two = next({ members: members.slice(0, 2), previous: three, partitions: 16 });
    three.owners.forEach((owner, partition) => owner !== 'c' && expect(two.owners[partition]).toBe(owner));
    const again = next({ members, previous: two, partitions: 16 });
    two.owners.forEach((owner, partition) => again.owners[partition] !== 'c' && expect(again.owners[partition]).toBe(owner));
  });

  it('takes the newest process of a node id while the dead one is still registered', () => {
    const { trackers, owners } = next({ members: [member('a', 'a-2'), member('a', 'a-1'), member('b')], previous: owned('a', member('a', 'a-1')) });
    expect(trackers.map(({ incarnation }) => incarnation)).toEqual(['a-2', 'b-1']);
    expect(owners.toSorted()).toEqual(['a', 'b']);
  });
});

const incarnationOf = ({ trackers, owners }: Assignment, partition: number): string => trackers.find(({ nodeId }) => nodeId === owners[partition])?.incarnation ?? '';

function moved(before: Assignment, after: Assignment): number {
  return before.owners.filter((_, partition) => incarnationOf(before, partition) !== incarnationOf(after, partition)).length;
}

/** What has lost its owner has to move, and what an owner has above the highest share that it can get. */
function fewestMoves(before: Assignment, world: World, lived: ReadonlyMap<string, Member>): number {
  const { candidates } = world;
  const keepers = candidates.filter((node) => world.members.get(node)?.incarnation === lived.get(node)?.incarnation);
  const held = countsOf(before.owners, keepers).sort((a, b) => b - a);
  if (candidates.length === 0) return before.owners.filter((owner) => owner !== '').length;
  const least = Math.floor(before.owners.length / candidates.length);
  const oneMore = before.owners.length % candidates.length;
  const kept = held.reduce((sum, count, place) => sum + Math.min(count, least + (place < oneMore ? 1 : 0)), 0);
  return before.owners.length - kept;
}
