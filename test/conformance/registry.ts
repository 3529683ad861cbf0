import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isGood, type Member, type Registry, type RegistryState } from '../../shared/registry/registry.js';
import { eventually } from '../kit/eventually.js';
import { registryDocumentConformance } from './registry-documents.js';

/** A started registry with a session of its own, and faults to play on that session alone. */
export interface FaultyRegistry {
  registry: Registry;
  /** The registry is away for this one until `heal()`; its session goes on. */
  interrupt(): void;
  heal(): void;
  /** The session ends, from outside. */
  expire(): Promise<void>;
}

/** What a kind of registry brings to be tested. */
export interface RegistryFixture {
  /** One more process, so to speak, in the cluster of that name. */
  make(cluster: string): Promise<FaultyRegistry>;
  /** Ends what the whole suite used. */
  close(): Promise<void>;
}

let numbered = 0;

/** A member that is like no other. */
export function memberNamed(nodeId: string, more: Partial<Member> = {}): Member {
  return { kind: 'job-tracker', nodeId, incarnation: `i${++numbered}`, nodeGroup: '', address: '127.0.0.1:7001', version: '1.0.0', startedAt: 1, ...more };
}

/** What every registry keeps to. */
export function registryConformance(name: string, open: () => Promise<RegistryFixture>): void {
  describe(`registry: ${name}`, () => {
    let fixture: RegistryFixture;
    let cluster = '';
    const made: FaultyRegistry[] = [];

    beforeAll(async () => {
      fixture = await open();
    });
    afterEach(async () => {
      for (const one of made.splice(0)) {
        one.heal();
        await one.registry.close();
      }
    });
    afterAll(() => fixture.close());

    const make = async (): Promise<FaultyRegistry> => {
      if (made.length === 0) cluster = `c${++numbered}`;
      const one = await fixture.make(cluster);
      made.push(one);
      return one;
    };

    sessionConformance(make);
    memberConformance(make);
    electionConformance(make);
    registryDocumentConformance(make);
  });
}

type Make = () => Promise<FaultyRegistry>;

function sessionConformance(make: Make): void {
  describe('session', () => {
    it('is good after the start, and tells each change once', async () => {
      const one = await make();
      const states: RegistryState[] = [];
      expect(isGood(one.registry.state)).toBe(true);
      const good = one.registry.state;
      one.registry.onState((state) => states.push(state));
      one.interrupt();
      await eventually(() => !isGood(one.registry.state));
      one.heal();
      await eventually(() => isGood(one.registry.state));
      expect(states).toEqual(['SUSPENDED', good]);
    });

    it('is lost and then good again when it expires', async () => {
      const one = await make();
      const states: RegistryState[] = [];
      one.registry.onState((state) => states.push(state));
      await one.expire();
      await eventually(() => states.includes('LOST') && isGood(one.registry.state));
      expect(states.slice(-2)[0]).toBe('LOST');
    });

    it('takes what it kept away when it is closed, and serves no more', async () => {
      const [one, other] = [await make(), await make()];
      let seen: readonly Member[] = [];
      other.registry.watchMembers('job-tracker', (members) => {
        seen = members;
      });
      one.registry.register(memberNamed('a'));
      one.registry.elect('lead', 'a');
      await eventually(async () => seen.length === 1 && (await other.registry.electionNodes('lead')).length === 1);
      await one.registry.close();
      await one.registry.close();
      expect(one.registry.state).toBe('CLOSED');
      await eventually(async () => seen.length === 0 && (await other.registry.electionNodes('lead')).length === 0);
      expect(() => one.registry.register(memberNamed('a'))).toThrow(/closed/);
    });
  });
}

function memberConformance(make: Make): void {
  describe('members', () => {
    it('are seen by all, by kind, in order, from registration to close', async () => {
      const [one, other] = [await make(), await make()];
      const lists: string[][] = [];
      other.registry.watchMembers('job-tracker', (members) => lists.push(members.map((member) => member.nodeId)));
      await eventually(() => lists.length === 1);
      const b = one.registry.register(memberNamed('b'));
      one.registry.register(memberNamed('w', { kind: 'task-tracker', nodeGroup: 'demo', address: '' }));
      await b.ready();
      expect(b.registered).toBe(true);
      const a = other.registry.register(memberNamed('a'));
      await eventually(() => lists.at(-1)?.join() === 'a,b');
      await b.close();
      await eventually(() => lists.at(-1)?.join() === 'a');
      expect(b.registered).toBe(false);
      await a.close();
      await eventually(() => lists.at(-1)?.length === 0);
      expect(lists[0]).toEqual([]);
    });

    it('come with all that they said of themselves', async () => {
      const one = await make();
      const member = memberNamed('näme with/slash', { nodeGroup: 'grün', address: '[::1]:7001', startedAt: 1_700_000_000_000 });
      let seen: readonly Member[] = [];
      one.registry.watchMembers('job-tracker', (members) => {
        seen = members;
      });
      one.registry.register(member);
      await eventually(() => seen.length === 1);
      expect(seen).toEqual([member]);
    });

    it.each([
      ['an address without a port', { address: 'localhost' }],
      ['control characters', { nodeId: 'a\nb' }],
      ['a long group', { nodeGroup: 'x'.repeat(257) }],
      ['an incarnation that is a path', { incarnation: '../x' }],
    ])('are refused with %s', async (_what, wrong) => {
      const one = await make();
      expect(() => one.registry.register(memberNamed('a', wrong))).toThrow(expect.objectContaining({ reason: 'INVALID_ARGUMENT' }));
    });

    it('come back by themselves after an expired session', async () => {
      const [one, other] = [await make(), await make()];
      const lists: string[][] = [];
      const registration = one.registry.register(memberNamed('a'));
      await registration.ready();
      other.registry.watchMembers('job-tracker', (members) => lists.push(members.map((member) => member.nodeId)));
      await eventually(() => lists.at(-1)?.join() === 'a');
      const states: RegistryState[] = [];
      one.registry.onState((state) => states.push(state));
      await one.expire();
      await eventually(() => states.includes('LOST') && registration.registered && lists.at(-1)?.join() === 'a');
      expect(lists.every((list) => list.length <= 1)).toBe(true);
    });

    it('stay in the list of one who is away, who sees what changed when it is back', async () => {
      const [one, other] = [await make(), await make()];
      const lists: string[][] = [];
      const a = one.registry.register(memberNamed('a'));
      other.registry.watchMembers('job-tracker', (members) => lists.push(members.map((member) => member.nodeId)));
      await eventually(() => lists.at(-1)?.join() === 'a');
      other.interrupt();
      await eventually(() => other.registry.state === 'SUSPENDED');
      const before = lists.length;
      await a.close();
      one.registry.register(memberNamed('b'));
      await one.registry.register(memberNamed('c')).ready();
      expect(lists.length).toBe(before);
      other.heal();
      await eventually(() => lists.at(-1)?.join() === 'b,c');
    });

    it('that are closed while the registry is away are removed when it is back', async () => {
      const [one, other] = [await make(), await make()];
      let seen: readonly Member[] = [];
      const a = one.registry.register(memberNamed('a'));
      other.registry.watchMembers('job-tracker', (members) => {
        seen = members;
      });
      await eventually(() => seen.length === 1);
      one.interrupt();
      await eventually(() => one.registry.state === 'SUSPENDED');
      await a.close();
      expect(seen).toHaveLength(1);
      one.heal();
      await eventually(() => seen.length === 0);
    });

    it('are told to a later listener at once, and to none that was closed', async () => {
      const one = await make();
      const [first, second, third]: [number[], number[], number[]] = [[], [], []];
      one.registry.watchMembers('job-client', (members) => first.push(members.length));
      await eventually(() => first.length === 1);
      one.registry.watchMembers('job-client', (members) => second.push(members.length)).close();
      one.registry.watchMembers('job-client', (members) => third.push(members.length));
      await eventually(() => third.length === 1);
      one.registry.register(memberNamed('c', { kind: 'job-client' }));
      await eventually(() => third.at(-1) === 1 && first.at(-1) === 1);
      expect(second).toEqual([]);
    });
  });
}

function electionConformance(make: Make): void {
  describe('election', () => {
    it('is led by the first, then by the next, with a greater number', async () => {
      const [one, other] = [await make(), await make()];
      const a = one.registry.elect('lead', 'a');
      await eventually(() => a.leading);
      const b = other.registry.elect('lead', 'b');
      const changes: boolean[] = [];
      b.onChange((leading) => changes.push(leading));
      await eventually(() => b.sequence !== undefined);
      const nodes = await one.registry.electionNodes('lead');
      expect(nodes.map((node) => node.candidateId)).toEqual(['a', 'b']);
      expect(nodes.map((node) => node.sequence)).toEqual([a.sequence, b.sequence]);
      expect([a.leading, b.leading]).toEqual([true, false]);
      expect(b.sequence).toBeGreaterThan(a.sequence ?? Infinity);
      await a.close();
      expect(a.leading).toBe(false);
      await eventually(() => b.leading);
      expect(changes).toEqual([true]);
      expect(await one.registry.electionNodes('lead')).toHaveLength(1);
    });

    it('goes to the next when the session of the leader expires; the old one queues again', async () => {
      const [one, other] = [await make(), await make()];
      const a = one.registry.elect('lead', 'a');
      await eventually(() => a.leading);
      const first = a.sequence ?? Infinity;
      const b = other.registry.elect('lead', 'b');
      await eventually(() => b.sequence !== undefined);
      await one.expire();
      await eventually(() => b.leading && !a.leading);
      await eventually(async () => (await other.registry.electionNodes('lead')).map((node) => node.candidateId).join() === 'b,a');
      await eventually(() => (a.sequence ?? 0) > (b.sequence ?? Infinity));
      expect(b.sequence).toBeGreaterThan(first);
      await b.close();
      await eventually(() => a.leading);
    });

    it('is not led by one who is away, who keeps the place for as long as its session', async () => {
      const [one, other] = [await make(), await make()];
      const a = one.registry.elect('lead', 'a');
      await eventually(() => a.leading);
      const b = other.registry.elect('lead', 'b');
      await eventually(() => b.sequence !== undefined);
      const changes: boolean[] = [];
      const rival: boolean[] = [];
      a.onChange((leading) => changes.push(leading));
      b.onChange((leading) => rival.push(leading));
      const place = a.sequence;
      one.interrupt();
      await eventually(() => one.registry.state === 'SUSPENDED');
      expect(a.leading).toBe(false);
      one.heal();
      await eventually(() => a.leading);
      expect(a.sequence).toBe(place);
      expect(changes).toEqual([true, false, true]);
      expect(rival).toEqual([]);
    });

    it('loses a candidate who leaves while away when that one is back', async () => {
      const [one, other] = [await make(), await make()];
      const a = one.registry.elect('lead', 'a');
      await eventually(() => a.leading);
      const b = other.registry.elect('lead', 'b');
      one.interrupt();
      await eventually(() => one.registry.state === 'SUSPENDED');
      await a.close();
      one.heal();
      await eventually(() => b.leading);
      expect((await other.registry.electionNodes('lead')).map((node) => node.candidateId)).toEqual(['b']);
    });

    it('is apart from others, and empty when nobody stood', async () => {
      const one = await make();
      const [x, y] = [one.registry.elect('x', 'a'), one.registry.elect('y', 'a')];
      await eventually(() => x.leading && y.leading);
      expect(await one.registry.electionNodes('z')).toEqual([]);
      expect(() => one.registry.elect('../x', 'a')).toThrow(/no name/);
    });

    it('leaves one place per candidate through many entries and exits', async () => {
      const [one, other] = [await make(), await make()];
      const closings: Promise<void>[] = [];
      for (let i = 0; i < 20; i++) closings.push(one.registry.elect('lead', `gone${i}`).close());
      const stay = one.registry.elect('lead', 'stays');
      await Promise.all(closings);
      await eventually(() => stay.leading);
      expect((await other.registry.electionNodes('lead')).map((node) => node.candidateId)).toEqual(['stays']);
    });
  });
}
