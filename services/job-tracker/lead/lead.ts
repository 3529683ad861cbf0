import { LtsError, toLtsError } from '../../../shared/errors/lts-error.js';
import type { Logger } from '../../../shared/log/logger.js';
import { type DocumentValue, type Election, isGood, type Member, type Registration, type Registry, type RegistryDocument, type RegistryState } from '../../../shared/registry/registry.js';
import { tzdataDiffers } from '../../../shared/schedule/tzdata.js';
import type { Clock } from '../../../shared/time/clock.js';
import { type Assignment, type AssignedTracker, assign, newestPerNode, sameAssignment } from './assign.js';
import { assignable, decodeAssignment, encodeAssignment } from './assignment-codec.js';
import type { ClusterView } from './cluster-view.js';
import type { DrainedNodes } from './drained-nodes.js';

/** What the lead tells to the owner of the partitions. */
export interface LeadEvents {
  /** These partitions are assigned to this process; all others are not. */
  assigned(partitions: readonly number[]): void;
}

/** What the lead needs to know. */
export interface LeadSettings {
  member: Member;
  partitions: number;
  /** Whether several trackers share the partitions. */
  spread: boolean;
}

const electionName = 'job-tracker';
const retryMs = 500;
/** After an outage in which all sessions ended the trackers register anew, one after the other: none is displaced for so long. */
const gatherMs = 2_000;

/**
 * Who leads and who owns what, by the registry.
 *
 * Every tracker registers itself (ephemeral) and stands in one election. The leader writes the assignment, one versioned
 * document that carries the leader's place in the election: whoever has an older place than the document leaves it
 * alone unless the election shows that place first, and a write against another version fails and is decided anew. Every
 * tracker, leader or not, follows the document: it owns what is assigned to its node id and incarnation. One that cannot
 * be read changes nothing and is written anew. Who is drained gets nothing (`drained-nodes.ts`); a tracker that is about
 * to leave says so there first, so that its partitions move while it still serves them.
 *
 * States: standing by → leading → standing by. Nothing here is a fence: an owner that is cut off from the registry goes
 * on until the store tells it that a higher epoch exists. While the registry is away nothing is assigned; an owner is
 * displaced only after its registration is gone, and after an outage only when it has had the time to come back.
 */
export class Lead {
  readonly #registry: Registry;
  readonly #events: LeadEvents;
  readonly #settings: LeadSettings;
  readonly #view: ClusterView;
  readonly #drained: DrainedNodes;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #document: RegistryDocument;
  #registration: Registration | undefined;
  #election: Election | undefined;
  #members: readonly Member[] = [];
  #current: { assignment: Assignment; version: number } | undefined;
  #known = false;
  #deciding = false;
  #again = false;
  #left = false;
  #wasLost = false;
  /** Monotonic milliseconds. */
  #gathersUntil = 0;
  /** Incarnations that were told of. */
  #namesakes: ReadonlySet<string> = new Set();
  /** What was told last of trackers that compute times by different rules. */
  #tzdataTold: string | undefined;

  constructor(registry: Registry, events: LeadEvents, settings: LeadSettings, view: ClusterView, drained: DrainedNodes, clock: Clock, log: Logger) {
    this.#registry = registry;
    this.#events = events;
    this.#settings = settings;
    this.#view = view;
    this.#drained = drained;
    this.#clock = clock;
    this.#log = log;
    this.#document = registry.document('assignment');
  }

  get leading(): boolean {
    return this.#election?.leading ?? false;
  }

  /** Stands in the election from now on. */
  start(): void {
    this.#registration = this.#registry.register(this.#settings.member);
    this.#registration.ready().catch(() => undefined);
    this.#election = this.#registry.elect(electionName, this.#settings.member.nodeId);
    this.#election.onChange((leading) => {
      this.#log.info(leading ? 'lead.gained' : 'lead.lost', { sequence: this.#election?.sequence });
      this.#decide();
    });
    this.#registry.watchMembers('job-tracker', (members) => {
      this.#members = assignable(members);
      this.#warnOfNamesakes();
      this.#compareTzdata();
      this.#decide();
    });
    this.#document.watch((value) => this.#follow(value));
    this.#registry.onState((state) => this.#noteState(state));
  }

  /** To be called when the drained nodes have changed. */
  reassign(): void {
    this.#decide();
  }

  /** Whether this process start is registered and no later one of its node is. */
  isLive(incarnation: string): boolean {
    return newestPerNode(this.#members).some((tracker) => tracker.incarnation === incarnation);
  }

  /** Asks for another owner of what is assigned here. False when there is nobody who could take it. */
  async announceLeave(): Promise<boolean> {
    const { nodeId, incarnation } = this.#settings.member;
    const others = newestPerNode(this.#members).filter((tracker) => tracker.incarnation !== incarnation && !this.#drained.isLeaving(tracker.incarnation));
    if (others.length === 0) return false;
    await this.#drained.leaving(nodeId, incarnation, (each) => this.isLive(each));
    return true;
  }

  /** What is assigned to this process by the newest known document. */
  assigned(): number[] {
    const { nodeId, incarnation } = this.#settings.member;
    const { trackers = [], owners = [] } = this.#current?.assignment ?? {};
    if (this.#left || !trackers.some((tracker) => tracker.nodeId === nodeId && tracker.incarnation === incarnation)) return [];
    return owners.flatMap((owner, partition) => (owner === nodeId ? [partition] : []));
  }

  /** Leaves: the partitions, which must have been released, are assigned to others. */
  async leave(): Promise<void> {
    this.#left = true;
    await Promise.all([this.#registration?.close(), this.#election?.close()]);
  }

  /** An earlier start of this node that was just killed looks live too, for the session time. */
  #warnOfNamesakes(): void {
    const { nodeId, incarnation, address } = this.#settings.member;
    const namesakes = this.#members.filter((member) => member.nodeId === nodeId && member.incarnation !== incarnation);
    for (const other of namesakes) {
      if (this.#namesakes.has(other.incarnation)) continue;
      this.#log.warn('lead.same_name', { nodeId, address, other: other.address, why: 'another tracker with this node id is registered; unless it was just killed, give each its own --node-id' });
    }
    this.#namesakes = new Set(namesakes.map((member) => member.incarnation));
  }

  #compareTzdata(): void {
    const told = this.#members.flatMap(({ nodeId, incarnation, tzdata }) => (tzdata === undefined ? [] : [{ nodeId, incarnation, tzdata }]));
    this.#view.tzdata = new Map(told.map(({ incarnation, tzdata }) => [incarnation, tzdata]));
    const why = tzdataDiffers(told.map(({ nodeId, tzdata }) => [nodeId, tzdata]));
    if (why !== undefined && why !== this.#tzdataTold) this.#log.warn('tzdata.apart', { why });
    this.#tzdataTold = why;
  }

  #noteState(state: RegistryState): void {
    if (state === 'LOST') this.#wasLost = true;
    if (!isGood(state) || !this.#wasLost) return;
    this.#wasLost = false;
    this.#gathersUntil = this.#clock.monotonic() + gatherMs;
    this.#clock.after(gatherMs, () => this.#decide(), { unref: true });
  }

  #follow(value: DocumentValue | null): void {
    this.#known = true;
    const assignment = value === null ? undefined : decodeAssignment(value.data);
    if (value !== null && assignment === undefined) this.#log.error('registry.failed', { error: new LtsError('INTERNAL', 'the assignment in the registry is not readable; it is written anew') });
    if (value === null) this.#current = undefined;
    else if (assignment !== undefined) this.#current = { assignment, version: value.version };
    if (this.#current !== undefined) this.#view.update(this.#current.assignment, this.#current.version);
    this.#events.assigned(this.assigned());
    this.#decide();
  }

  /** Leader only: writes the assignment when it is not what it should be. One decision at a time. */
  #decide(): void {
    if (this.#deciding) {
      this.#again = true;
      return;
    }
    this.#deciding = true;
    this.#write()
      .catch((error: unknown) => {
        if (toLtsError(error).reason !== 'VERSION_CONFLICT') this.#log.warn('registry.failed', { operation: 'assign', error });
        this.#clock.after(retryMs, () => this.#decide(), { unref: true });
      })
      .finally(() => {
        this.#deciding = false;
        if (!this.#again) return;
        this.#again = false;
        this.#decide();
      });
  }

  async #write(): Promise<void> {
    const sequence = this.#election?.sequence;
    if (this.#left || !this.leading || sequence === undefined || !this.#known || !this.#drained.known || this.#members.length === 0) return;
    const stored = await this.#document.read();
    const written = stored === null ? undefined : decodeAssignment(stored.data);
    const previous = stored === null ? undefined : (written ?? this.#current?.assignment);
    if (previous !== undefined && previous.leader.sequence > sequence && !(await this.#isFirst(sequence))) return;
    if (this.#clock.monotonic() < this.#gathersUntil && previous?.trackers.some(({ incarnation }) => !this.isLive(incarnation))) return;
    const { partitions, member, spread } = this.#settings;
    const next = assign({ leader: { nodeId: member.nodeId, sequence }, members: this.#members, previous, partitions, spread, reluctance: (tracker) => this.#reluctance(tracker) });
    if (sameAssignment(written, next)) return;
    const version = await this.#document.write(encodeAssignment(next), stored?.version ?? 'create');
    const moved = next.owners.filter((owner, partition) => owner !== previous?.owners[partition]).length;
    this.#log.info('lead.assigned', { version, moved, trackers: next.trackers.length });
  }

  /** Who is about to leave is asked last of all. */
  #reluctance({ nodeId, incarnation }: AssignedTracker): number {
    if (this.#drained.isLeaving(incarnation)) return 2;
    return this.#drained.has(nodeId) ? 1 : 0;
  }

  /**
   * Whether the election still shows this place first. Asked after the document was read: had a later leader written
   * that, the place would be gone by then. So a number that nobody has does not keep the real leader from writing.
   */
  async #isFirst(sequence: number): Promise<boolean> {
    const [first] = await this.#registry.electionNodes(electionName);
    return first?.sequence === sequence && first.candidateId === this.#settings.member.nodeId;
  }
}
