import { LtsError } from '../../../shared/errors/lts-error.js';
import type { Reason } from '../../../shared/errors/reasons.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { Subscription } from '../../../shared/registry/registry.js';
import { backoffMs } from '../../../shared/time/backoff.js';
import type { Clock, Timer } from '../../../shared/time/clock.js';
import type { WorkCall } from './work-call.js';
import { type SessionHost, WorkSession } from './work-session.js';

/** What a tracker says while the group moves. */
const moving: ReadonlySet<Reason> = new Set(['NOT_OWNER', 'LOADING']);
/** First pauses before another try. */
const movingMs = 25;
const brokenMs = 200;
/** How long a retired session may stay open for acks, in milliseconds. */
const retiredForMs = 10_000;
/** So many times in a row another owner may be tried without a pause. */
const quickTries = 3;
/** So many times in a row a tracker may say that it is not the owner and name no other, before the map is asked of another one. */
const triesPerMap = 8;

/** Who owns which group; ClusterWatcher is one. */
export interface OwnerMap {
  ownerOf(nodeGroup: string): string | undefined;
  noteOwner(nodeGroup: string, address: string): void;
  forgetOwner(address: string): void;
  noteUnreachable(address: string): void;
  onChange(listener: () => void): Subscription;
  close(): void;
}

/** What the link needs of its surroundings. */
export interface LinkPorts {
  nodeGroup: string;
  owners: OwnerMap;
  open: (address: string) => WorkCall;
  clock: Clock;
  log: Logger;
}

/**
 * Keeps one session to the owner of the group and follows it when it moves. A group lies in one partition, which has one
 * owner, so there are two sessions only while it moves: the new one, and the old one, retired, until the new one is owned.
 * A lost session is opened again after a pause that grows to 2 s, from 200 ms, or from 25 ms while the group moves: then
 * its next owner is about to have it.
 */
export class OwnerLink {
  readonly #ports: LinkPorts;
  readonly #host: SessionHost;
  readonly #subscription: Subscription;
  #current: WorkSession | undefined;
  readonly #retired = new Map<WorkSession, Timer>();
  /** The pause before the next try. */
  #pause: { address: string; timer: Timer } | undefined;
  #tries = 0;
  /** The change of routes that is told now is our own note. */
  #noting = false;
  #stopped = false;

  constructor(host: SessionHost, ports: LinkPorts) {
    this.#host = host;
    this.#ports = ports;
    this.#subscription = ports.owners.onChange(() => this.#routesChanged());
  }

  get sessions(): WorkSession[] {
    return this.#current === undefined ? [...this.#retired.keys()] : [this.#current, ...this.#retired.keys()];
  }

  /** A session through which results can be delivered. */
  get owned(): WorkSession | undefined {
    return this.sessions.find((session) => session.owned && !session.closed);
  }

  /** Opens a session to the owner when there is none, or when it has moved. */
  follow(): void {
    const { owners, nodeGroup, clock, log } = this.#ports;
    const address = owners.ownerOf(nodeGroup);
    if (this.#stopped || address === undefined || this.#current?.address === address) return;
    // Trackers that name each other as the owner must not keep us spinning.
    if (this.#pause !== undefined && (this.#pause.address === address || this.#tries > quickTries)) return;
    // Its end is followed by another look. A tracker that is about to go ends it; one that was left because of an old map
    // does not, and what it has sent meanwhile was dropped: it has to ask again.
    const former = [...this.#retired.keys()].find((session) => session.address === address);
    if (former !== undefined) return former.drained ? undefined : this.#endRetired(former);
    if (this.#current !== undefined) this.retire(this.#current);
    this.#pause?.timer.cancel();
    this.#pause = undefined;
    try {
      this.#current = new WorkSession(address, this.#ports.open, this.#host, clock);
    } catch (error) {
      log.error('stream.lost', { stream: 'Work', address, error });
      this.#pauseBefore(address, brokenMs);
    }
  }

  /** The tracker is about to go and may know who is next. */
  drained(session: WorkSession, owner: string): void {
    session.drained = true;
    this.retire(session);
    if (owner !== '') this.#noteOwner(owner);
    this.follow();
  }

  /** It gets no more tasks and no more grants, and is closed when its successor is owned, at the latest after 10 s. */
  retire(session: WorkSession): void {
    if (session.retired || session.closed) return;
    session.retired = true;
    if (this.#current === session) this.#current = undefined;
    const timer = this.#ports.clock.after(retiredForMs, () => this.#endRetired(session), { unref: true });
    this.#retired.set(session, timer);
  }

  /** The session was told what this worker has: its predecessors are not needed. */
  established(): void {
    this.#tries = 0;
    for (const session of this.#retired.keys()) this.#endRetired(session);
  }

  /** To be called when a session has closed. */
  closed(session: WorkSession, error: LtsError): void {
    const { owners, log } = this.#ports;
    const { address, owned, retired, drained } = session;
    this.#retired.get(session)?.cancel();
    this.#retired.delete(session);
    if (this.#current === session) this.#current = undefined;
    if (this.#stopped) return;
    const fields = { stream: 'Work', address, retired, reason: error.reason, why: error.message };
    if (!retired && (owned || this.#tries === 0)) log.warn('stream.lost', fields);
    else log.debug('stream.lost', fields);
    if (this.#current === undefined && (!retired || drained)) this.#pauseBefore(address, moving.has(error.reason) ? movingMs : brokenMs);
    if (error.reason === 'NOT_OWNER' && error.owner !== undefined) this.#noteOwner(error.owner);
    // It lives, and nobody has the group yet; after some tries its map may be an old one.
    else if (error.reason === 'NOT_OWNER' && this.#tries % triesPerMap !== 0) owners.forgetOwner(address);
    else if (!retired && error.reason !== 'LOADING') owners.noteUnreachable(address);
    this.follow();
  }

  /** Opens no more sessions. */
  stop(): void {
    this.#stopped = true;
    this.#subscription.close();
    this.#pause?.timer.cancel();
  }

  /** News from a tracker that lives: no pause is needed. */
  #routesChanged(): void {
    if (!this.#noting) {
      this.#tries = 0;
      this.#pause?.timer.cancel();
      this.#pause = undefined;
    }
    this.follow();
  }

  #noteOwner(address: string): void {
    this.#noting = true;
    this.#ports.owners.noteOwner(this.#ports.nodeGroup, address);
    this.#noting = false;
  }

  #endRetired(session: WorkSession): void {
    session.close(new LtsError('CANCELLED', 'the owner of the group has moved'));
  }

  #pauseBefore(address: string, firstMs: number): void {
    this.#pause?.timer.cancel();
    const timer = this.#ports.clock.after(backoffMs(this.#tries++, firstMs, 2_000), () => {
      this.#pause = undefined;
      this.follow();
    });
    this.#pause = { address, timer };
  }
}
