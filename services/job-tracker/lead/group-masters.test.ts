import { beforeEach, describe, expect, it } from 'vitest';
import type { GroupMaster } from '../../../shared/grpc/generated/lts/v1/GroupMaster.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import { OwnedGroups } from '../queue/owned-groups.js';
import { GroupMasters } from './group-masters.js';

const graceMs = 9_000;

/** A node with all that it was told. */
class Member {
  readonly told: GroupMaster[] = [];
  readonly name: string;
  heard = 0;
  asked = 0;
  constructor(name: string) {
    this.name = name;
  }
  get last(): GroupMaster | undefined {
    return this.told.at(-1);
  }
  get token(): number {
    return Number(this.last?.token ?? 0);
  }
}

class Owner {
  readonly clock = new VirtualClock();
  readonly groups = new OwnedGroups(1_000);
  readonly masters: GroupMasters<Member>;
  constructor() {
    const port = { nameOf: ({ name }: Member) => name, heardOf: ({ heard }: Member) => heard, tell: (member: Member, master: GroupMaster) => void member.told.push(master), ask: (member: Member) => void member.asked++ };
    this.masters = new GroupMasters(this.groups, port, graceMs, this.clock);
  }

  adopt(epoch: number): this {
    this.groups.adopt({ partition: 0, epoch }, { groups: [], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } });
    this.groups.confirm([{ partition: 0, epoch }], Number.POSITIVE_INFINITY);
    this.masters.adopted(0);
    return this;
  }
}

describe('GroupMasters', () => {
  let owner: Owner;
  let [a, b, c]: [Member, Member, Member] = [new Member('a'), new Member('b'), new Member('c')];
  const join = (...members: Member[]): void => {
    for (const member of members) owner.masters.joined('g', member, 0);
  };

  beforeEach(() => {
    owner = new Owner().adopt(1);
    [a, b, c] = [new Member('a'), new Member('b'), new Member('c')];
  });

  it('makes the oldest the master at once, under the first owner, and tells each', () => {
    join(a, b);
    const { token } = a;
    expect(token).toBeGreaterThan(0);
    expect(a.last).toEqual({ self: true, node_id: 'a', token, lease: 7_500, heard: 0 });
    expect(b.last).toEqual({ self: false, node_id: 'a', token, lease: 7_500, heard: 0 });
    expect([owner.masters.tokenOf('g', a), owner.masters.tokenOf('g', b)]).toEqual([token, 0]);
  });

  it('brings back to each member the newest time that came from it', () => {
    join(a, b);
    [a.heard, b.heard] = [17, 4];
    owner.masters.renew();
    expect([a.last?.heard, b.last?.heard]).toEqual([17, 4]);
  });

  it('waits for the grace time when the stream of the master is lost, then takes the next with a greater token', async () => {
    join(a, b, c);
    owner.masters.lost('g', a);
    const before = b.told.length;
    await owner.clock.advance(graceMs - 1);
    owner.masters.renew();
    expect(b.told).toHaveLength(before);
    expect(owner.masters.tokenOf('g', a)).toBe(0);
    await owner.clock.advance(1);
    expect(b.last).toMatchObject({ self: true, node_id: 'b' });
    expect(c.last).toMatchObject({ self: false, node_id: 'b', token: b.token });
    expect(b.token).toBeGreaterThan(a.token);
  });

  it('leaves the master what it was when it comes back in time, also on another stream', async () => {
    join(a, b);
    const { token } = a;
    owner.masters.lost('g', a);
    await owner.clock.advance(graceMs - 1);
    join(a);
    expect(a.last).toMatchObject({ self: true, token });
    owner.masters.lost('g', a);
    const again = new Member('a');
    owner.masters.joined('g', again, token);
    await owner.clock.advance(2 * graceMs);
    expect(again.last).toMatchObject({ self: true, token });
    expect(b.last).toMatchObject({ self: false, token });
  });

  it('takes the next one at once when the master has left for certain', () => {
    join(a, b);
    owner.masters.left('g', a);
    expect(b.last).toMatchObject({ self: true, node_id: 'b' });
    expect(b.token).toBeGreaterThan(a.token);
    owner.masters.left('g', b);
    join(c);
    expect(c.token).toBeGreaterThan(b.token);
  });

  it('keeps the master when another member comes or goes', () => {
    join(a, b);
    const { token } = a;
    owner.masters.left('g', b);
    join(c);
    owner.masters.lost('g', c);
    expect(a.token).toBe(token);
  });

  it('says it again and again, so that the lease goes on', () => {
    join(a, b);
    owner.masters.renew();
    expect(a.told).toHaveLength(2);
    expect(a.told[1]).toEqual(a.told[0]);
  });

  it('lets the lease end when the store confirms the epoch no more: another owner may choose a grace time after it took over', async () => {
    join(a, b);
    const confirm = (at: number): void => owner.groups.confirm([{ partition: 0, epoch: 1 }], at);
    confirm(owner.clock.monotonic());
    await owner.clock.advance(graceMs / 6);
    owner.masters.renew();
    expect(a.told).toHaveLength(2);
    await owner.clock.advance(1);
    owner.masters.renew();
    // Another member comes, and is not told either.
    join(c);
    expect([a.told.length, b.told.length, c.told.length]).toEqual([2, 2, 0]);
    confirm(owner.clock.monotonic());
    owner.masters.renew();
    expect([a.told.length, b.told.length, c.last?.node_id]).toEqual([3, 3, 'a']);
  });

  it('waits under a later owner, since the master of the earlier one may still take itself for it', async () => {
    owner = new Owner().adopt(7);
    await owner.clock.advance(1_000);
    join(a, b);
    await owner.clock.advance(graceMs - 1_001);
    expect([a.told, b.told]).toEqual([[], []]);
    await owner.clock.advance(1);
    expect(a.last).toMatchObject({ self: true });
  });

  it('leaves the mastership to the node that answers that it has it, under a greater token', () => {
    join(a, b);
    const earlier = a.token;
    owner = new Owner().adopt(2);
    join(b, a);
    expect([a.asked, b.asked]).toEqual([1, 1]);
    owner.masters.renew();
    expect([a.asked, b.asked]).toEqual([2, 2]);
    owner.masters.claims('g', b, 0);
    owner.masters.claims('g', a, earlier);
    expect(a.last).toMatchObject({ self: true, node_id: 'a' });
    expect(b.last).toMatchObject({ self: false, node_id: 'a' });
    expect(a.token).toBeGreaterThan(earlier);
  });

  it('leaves it to nobody for what it was when it came, nor to one that is gone', async () => {
    join(a, b);
    const earlier = a.token;
    owner = new Owner().adopt(2);
    owner.masters.joined('g', a, earlier);
    owner.masters.joined('g', b, 0);
    owner.masters.lost('g', b);
    owner.masters.claims('g', b, earlier);
    expect(owner.masters.tokenOf('g', a) + owner.masters.tokenOf('g', b)).toBe(0);
    await owner.clock.advance(graceMs);
    expect(owner.masters.tokenOf('g', a)).toBeGreaterThan(earlier);
    owner.masters.claims('g', a, 0);
    expect(owner.masters.tokenOf('g', a)).toBeGreaterThan(0);
  });

  it('asks and waits when another owner had the partition in between: it may have chosen others', async () => {
    join(a, b);
    const before = a.token;
    owner.adopt(4);
    join(a, b);
    expect([a.token, b.token, a.asked, b.asked]).toEqual([before, before, 1, 1]);
    owner.masters.claims('g', b, before + 1);
    await owner.clock.advance(2 * graceMs);
    expect([a.last?.self, b.last?.self]).toEqual([false, true]);
  });

  it('gives the master a new token when the owner takes its partition again', () => {
    join(a, b);
    const { token } = a;
    owner.adopt(2);
    expect(a.last).toMatchObject({ self: true });
    expect(a.token).toBeGreaterThan(token);
    expect(b.token).toBe(a.token);
  });

  it('says nothing of groups that are not owned, nor any more', async () => {
    join(a, b);
    owner.masters.lost('g', a);
    owner.groups.drop(0);
    owner.masters.dropped();
    const told = b.told.length;
    await owner.clock.advance(2 * graceMs);
    join(c);
    owner.masters.renew();
    expect([b.told.length, c.told.length]).toEqual([told, 0]);
  });
});
