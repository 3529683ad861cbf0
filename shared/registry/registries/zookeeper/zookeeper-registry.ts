import { LtsError } from '../../../errors/lts-error.js';
import type { Logger } from '../../../log/logger.js';
import { type Clock, systemClock } from '../../../time/clock.js';
import { withDeadline } from '../../../time/deadline.js';
import { checkCandidate, maxDocumentWatches } from '../../limits.js';
import { checkMember } from '../../member-codec.js';
import type { Election, ElectionNode, Member, MemberKind, Registration, Registry, RegistryDocument, RegistryState, Subscription } from '../../registry.js';
import { type DocumentWatch, ZooKeeperDocument } from './document.js';
import { readQueue, ZooKeeperElection } from './election.js';
import { Listeners } from '../../listeners.js';
import { layoutOf } from './layout.js';
import { MemberWatch } from './member-watch.js';
import { OrphanSweep } from './orphan-sweep.js';
import type { Part, PartContext } from './part.js';
import { ZooKeeperRegistration } from './registration.js';
import { parseConnect } from './servers.js';
import { Session } from './session.js';

/** For removing nodes one by one, in milliseconds. */
const closeLimitMs = 3_000;

export interface ZooKeeperRegistryOptions {
  /** `host:port,host:port`, with a path behind it when everything is to lie below one. */
  connect: string;
  cluster: string;
  /** Asked of the server, which grants 2 to 20 of its ticks. A dead process is noticed after this time. Default 10,000. */
  sessionTimeoutMs?: number;
  /** How long start() waits for the first contact, in milliseconds. Default 10,000. */
  startDeadlineMs?: number;
  /** Whether it goes on connecting after start() has rejected. Default false: it is closed then. */
  keepTrying?: boolean;
  log: Logger;
  clock?: Clock;
  random?: () => number;
  /** Requests after which a connection is replaced; below 2^31 - 1. Default 2,000,000,000. */
  mostRequests?: number;
}

/** The registry on a ZooKeeper ensemble. */
export class ZooKeeperRegistry implements Registry {
  readonly #context: PartContext;
  readonly #session: Session;
  readonly #startDeadlineMs: number;
  readonly #keepTrying: boolean;
  readonly #parts = new Set<Part>();
  readonly #orphanListeners: Listeners<string>;
  /** Where this process has made nodes of its session. */
  readonly #folders = new Set<string>();
  readonly #sweep: OrphanSweep;
  readonly #memberWatches = new Map<MemberKind, MemberWatch>();
  #documentWatches = 0;

  constructor(options: ZooKeeperRegistryOptions) {
    const { servers, chroot } = parseConnect(options.connect);
    const clock = options.clock ?? systemClock;
    this.#startDeadlineMs = options.startDeadlineMs ?? 10_000;
    this.#keepTrying = options.keepTrying ?? false;
    this.#session = new Session({
      servers,
      sessionTimeoutMs: options.sessionTimeoutMs ?? 10_000,
      mostRequests: options.mostRequests ?? 2_000_000_000,
      clock,
      log: options.log,
      random: options.random ?? Math.random,
    });
    this.#context = {
      layout: layoutOf(chroot, options.cluster),
      session: this.#session,
      clock,
      log: options.log,
      forget: (part) => void this.#parts.delete(part),
      onOrphan: (path) => {
        options.log.warn('registry.failed', { what: 'a node of this session belonged to nothing; it was removed', path });
        this.#orphanListeners.emit(path);
      },
    };
    this.#orphanListeners = new Listeners(options.log);
    this.#sweep = new OrphanSweep(this.#context, {
      folders: () => this.#folders,
      isClaimed: (path) => [...this.#parts].some((part) => part.claims?.(path)),
    });
    this.#parts.add(this.#sweep);
    this.#session.onPeriod((connection) => {
      for (const part of this.#parts) part.attach(connection);
    });
  }

  get state(): RegistryState {
    return this.#session.state;
  }

  onState(listener: (state: RegistryState) => void): Subscription {
    return this.#session.onState(listener);
  }

  onOrphan(listener: (path: string) => void): Subscription {
    return this.#orphanListeners.add(listener);
  }

  async start(): Promise<void> {
    try {
      await this.#session.start(this.#startDeadlineMs);
    } catch (error) {
      if (!this.#keepTrying) await this.close();
      throw error;
    }
  }

  register(member: Member): Registration {
    const registration = new ZooKeeperRegistration(this.#context, checkMember(member));
    this.#folders.add(this.#context.layout.members(member.kind));
    this.#keep(registration);
    return registration;
  }

  watchMembers(kind: MemberKind, listener: (members: readonly Member[]) => void): Subscription {
    let watch = this.#memberWatches.get(kind);
    if (watch === undefined) {
      watch = new MemberWatch(this.#context, kind);
      this.#memberWatches.set(kind, watch);
      this.#keep(watch);
    }
    return watch.subscribe(listener);
  }

  elect(name: string, candidateId: string): Election {
    const election = new ZooKeeperElection(this.#context, name, checkCandidate(candidateId));
    this.#folders.add(this.#context.layout.election(name));
    this.#keep(election);
    return election;
  }

  electionNodes(name: string): Promise<ElectionNode[]> {
    return readQueue(this.#context, name);
  }

  document(path: string): RegistryDocument {
    return new ZooKeeperDocument(this.#context, path, (watch) => this.#watchDocument(watch));
  }

  async close(): Promise<void> {
    const closing = Promise.all([...this.#parts].map(async (part) => part.close?.()));
    // The end of the session removes what could not be removed until then.
    await withDeadline(closing, closeLimitMs, 'leaving ZooKeeper', this.#context.clock).catch(() => undefined);
    for (const watch of this.#memberWatches.values()) watch.stop();
    this.#sweep.stop();
    await this.#session.close();
    this.#parts.clear();
  }

  #watchDocument(watch: DocumentWatch): Subscription {
    if (this.#documentWatches >= maxDocumentWatches)
      throw new LtsError('TOO_MANY_CALLS', `${maxDocumentWatches} documents are watched already: close some of the watches`);
    this.#documentWatches++;
    this.#keep(watch);
    return {
      close: () => {
        if (!this.#parts.delete(watch)) return;
        this.#documentWatches--;
        watch.stop();
      },
    };
  }

  #keep(part: Part): void {
    if (this.#session.state === 'CLOSED') throw new LtsError('REGISTRY_UNAVAILABLE', 'the registry is closed');
    this.#parts.add(part);
    part.attach(this.#session.connection);
  }
}
