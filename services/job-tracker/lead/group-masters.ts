import type { GroupMaster } from '../../../shared/grpc/generated/lts/v1/GroupMaster.js';
import type { Clock, Timer } from '../../../shared/time/clock.js';
import type { OwnedGroups } from '../queue/owned-groups.js';

/** How the members of groups are named and told. */
export interface MemberPort<M> {
  nameOf(member: M): string;
  /** The newest time of its own clock that the member has told; 0: it tells none. */
  heardOf(member: M): number;
  /** May be lost: it is said again with each `renew`. */
  tell(member: M, master: GroupMaster): void;
  /** Asks what the member takes itself for now, for `claims`; asked again with each `renew`. Left out: each says so when it joins. */
  ask?(member: M): void;
}

interface Group<M> {
  name: string;
  partition: number;
  /** Connected ones, the oldest first. */
  members: Set<M>;
  master: M | undefined;
  token: number;
  /** The master's stream is lost; it may still take itself for the master. */
  lost: boolean;
  /** Runs until nobody can take itself for the master any more. */
  wait: Timer | undefined;
}

/**
 * One master for each group, chosen by the owner of the group's partition.
 *
 * The oldest connected member is master, and stays it as long as its stream is good. A mastership is a lease of five
 * sixths of the grace time: the master is told again and again, each time with the newest time of its own clock that has
 * come from it, and counts the lease from there (shared/master/master-lease.ts).
 * The next one is chosen when the old one has left for certain, or a whole grace time after its stream was lost, so that
 * two do not overlap unless a node stands still. A new owner knows no master: it asks, and the one that answers that it
 * is one stays it; else the choice waits for the grace time. What was said before that question counts for nothing: its
 * master may have had successors since. So that no earlier owner lets a lease go on beyond that grace time, an owner tells
 * its master only while the store has confirmed its epoch within the last sixth of one. Every choice has a greater token
 * than all before it, also those of earlier owners, since it begins with the epoch: that is the fence for a node that stood still.
 */
export class GroupMasters<M> {
  readonly #owned: OwnedGroups;
  readonly #port: MemberPort<M>;
  readonly #graceMs: number;
  readonly #clock: Clock;
  readonly #groups = new Map<string, Group<M>>();
  /** When partitions were taken over, monotonic, and under which epoch. */
  readonly #adopted = new Map<number, { at: number; epoch: number }>();

  constructor(owned: OwnedGroups, port: MemberPort<M>, graceMs: number, clock: Clock) {
    this.#owned = owned;
    this.#port = port;
    this.#graceMs = graceMs;
    this.#clock = clock;
  }

  /** The lease of a mastership, in milliseconds; `renew` has to come several times within it. */
  static leaseMs(graceMs: number): number {
    return Math.floor((graceMs * 5) / 6);
  }

  /** The token under which it is master; 0: it is not. */
  tokenOf(name: string, member: M): number {
    const group = this.#groups.get(name);
    return group !== undefined && group.master === member && !group.lost ? group.token : 0;
  }

  /** A member is there, for the first time or again. `earlier`: the token under which it was master, at some time; or 0. */
  joined(name: string, member: M, earlier: number): void {
    const group = this.#group(name);
    if (group === undefined) return;
    group.members.add(member);
    const returns = group.master !== undefined && group.lost && (group.master === member || (earlier > 0 && earlier === group.token));
    if (returns) {
      group.wait?.cancel();
      Object.assign(group, { master: member, lost: false, wait: undefined });
    } else if (group.master === undefined && group.wait === undefined) return this.#choose(group, member);
    this.#tell(group, member);
  }

  /** A member that has joined says under which token it takes itself for the master (0: it does not), asked since the take-over. */
  claims(name: string, member: M, token: number): void {
    const group = this.#groups.get(name);
    if (token > 0 && group?.members.has(member) === true && group.master === undefined) this.#choose(group, member);
  }

  /** The stream of a member is lost, which may mean anything. */
  lost(name: string, member: M): void {
    const group = this.#groups.get(name);
    if (group === undefined) return;
    group.members.delete(member);
    if (group.master === member && !group.lost) {
      group.lost = true;
      this.#wait(group, this.#graceMs);
    } else this.#forgetEmpty(group);
  }

  /** The member is gone for certain: it does not take itself for the master any more. */
  left(name: string, member: M): void {
    const group = this.#groups.get(name);
    if (group === undefined) return;
    group.members.delete(member);
    if (group.master === member) this.#next(group);
    this.#forgetEmpty(group);
  }

  /** The partition was taken over, or again: tokens of its new epoch. */
  adopted(partition: number): void {
    const epoch = this.#owned.partitions.get(partition)?.epoch ?? 0;
    // Of the next epoch: nobody had it in between. Whoever had may have chosen others.
    const isAgain = this.#adopted.get(partition)?.epoch === epoch - 1;
    this.#adopted.set(partition, { at: this.#clock.monotonic(), epoch });
    for (const group of this.#groups.values()) {
      if (group.partition !== partition) continue;
      if (!isAgain) this.#forget(group);
      else if (group.master !== undefined && !group.lost) this.#choose(group, group.master);
    }
  }

  /** Forgets the groups of partitions that are not owned any more: their next owner tells. */
  dropped(): void {
    for (const partition of this.#adopted.keys()) if (!this.#owned.partitions.has(partition)) this.#adopted.delete(partition);
    for (const group of this.#groups.values()) if (!this.#owned.partitions.has(group.partition)) this.#forget(group);
  }

  /** Tells every member again. */
  renew(): void {
    for (const group of this.#groups.values()) for (const member of group.members) this.#tell(group, member);
  }

  #group(name: string): Group<M> | undefined {
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    const owned = this.#owned.partitions.get(this.#owned.partitionOf(name));
    if (owned === undefined) return undefined;
    const group: Group<M> = { name, partition: owned.partition, members: new Set(), master: undefined, token: 0, lost: false, wait: undefined };
    this.#groups.set(name, group);
    // The first owner of all has no earlier one whose master may still be there.
    const leftMs = owned.epoch === 1 ? 0 : (this.#adopted.get(owned.partition)?.at ?? -Infinity) + this.#graceMs - this.#clock.monotonic();
    if (leftMs > 0) this.#wait(group, leftMs);
    return group;
  }

  #wait(group: Group<M>, waitMs: number): void {
    group.wait?.cancel();
    group.wait = this.#clock.after(waitMs, () => {
      this.#next(group);
      this.#forgetEmpty(group);
    }, { unref: true });
  }

  #next(group: Group<M>): void {
    group.wait?.cancel();
    const [oldest] = group.members;
    Object.assign(group, { master: undefined, lost: false, wait: undefined });
    if (oldest !== undefined) this.#choose(group, oldest);
  }

  #choose(group: Group<M>, master: M): void {
    const partition = this.#owned.partitions.get(group.partition);
    if (partition === undefined) return;
    group.wait?.cancel();
    Object.assign(group, { master, lost: false, wait: undefined, token: this.#owned.nextFence(partition) });
    for (const member of group.members) this.#tell(group, member);
  }

  #tell(group: Group<M>, member: M): void {
    const { master, token, lost } = group;
    if (master === undefined) return this.#port.ask?.(member);
    if (lost || !this.#isConfirmed(group)) return;
    this.#port.tell(member, { self: member === master, node_id: this.#port.nameOf(master), token, lease: GroupMasters.leaseMs(this.#graceMs), heard: this.#port.heardOf(member) });
  }

  /** Another owner may have the partition since, and chooses another master when the grace time is over: no lease may go on beyond that. */
  #isConfirmed({ partition }: Group<M>): boolean {
    const confirmedAt = this.#owned.partitions.get(partition)?.confirmedAt ?? Number.NEGATIVE_INFINITY;
    return this.#clock.monotonic() - confirmedAt <= this.#graceMs - GroupMasters.leaseMs(this.#graceMs);
  }

  #forgetEmpty(group: Group<M>): void {
    if (group.members.size === 0 && group.wait === undefined) this.#groups.delete(group.name);
  }

  #forget(group: Group<M>): void {
    group.wait?.cancel();
    this.#groups.delete(group.name);
  }
}
