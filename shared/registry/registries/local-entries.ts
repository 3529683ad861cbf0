import { LtsError } from '../../errors/lts-error.js';
import type { Logger } from '../../log/logger.js';
import { FirstTime } from '../first-time.js';
import { Listeners } from '../listeners.js';
import type { Election, Member, Registration, Subscription } from '../registry.js';
import type { LocalRegistryHub } from './local-hub.js';

/** What a local registry keeps for its user through suspended and expired sessions. */
export interface LocalEntry {
  /** The session is good: be there, and see who leads. */
  enter(): void;
  /** The session does not answer: what is there stays there, but may not be relied on. */
  pause(): void;
  /** The session has ended: all of it is gone. Also what follows a close, as soon as the session answers. */
  leave(): void;
}

/** Keeps one member in the hub. */
export class LocalRegistration implements Registration, LocalEntry {
  readonly member: Member;
  readonly #hub: LocalRegistryHub;
  readonly #onClose: () => void;
  readonly #ready = new FirstTime();
  #registered = false;
  #closed = false;
  #away = false;

  constructor(hub: LocalRegistryHub, member: Member, onClose: () => void) {
    this.#hub = hub;
    this.member = member;
    this.#onClose = onClose;
  }

  get registered(): boolean {
    return this.#registered;
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  enter(): void {
    this.#away = false;
    if (this.#closed) return this.leave();
    if (!this.#registered) this.#hub.putMember(this, this.member);
    this.#registered = true;
    this.#ready.happened();
  }

  pause(): void {
    this.#away = true;
  }

  leave(): void {
    this.#hub.removeMember(this);
    this.#registered = false;
    if (this.#closed) this.#onClose();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#ready.never(new LtsError('CANCELLED', `registration of ${this.member.nodeId} was closed`));
    if (!this.#away) this.leave();
  }
}

/** One candidate in a queue of the hub. */
export class LocalElection implements Election, LocalEntry {
  readonly name: string;
  readonly candidateId: string;
  readonly #hub: LocalRegistryHub;
  readonly #onClose: () => void;
  readonly #listeners: Listeners<boolean>;
  #sequence: number | undefined;
  #leading = false;
  #closed = false;
  #away = false;

  constructor(hub: LocalRegistryHub, name: string, candidateId: string, log: Logger, onClose: () => void) {
    this.#hub = hub;
    this.name = name;
    this.candidateId = candidateId;
    this.#onClose = onClose;
    this.#listeners = new Listeners(log);
  }

  get leading(): boolean {
    return this.#leading;
  }

  get sequence(): number | undefined {
    return this.#sequence;
  }

  onChange(listener: (leading: boolean) => void): Subscription {
    const subscription = this.#listeners.add(listener);
    if (this.#leading) this.#listeners.call(listener, true);
    return subscription;
  }

  enter(): void {
    this.#away = false;
    if (this.#closed) return this.leave();
    if (this.#sequence === undefined) this.#sequence = this.#hub.enqueue(this.name, this, this.candidateId).sequence;
    this.#set(this.#hub.queue(this.name)[0]?.owner === this);
  }

  pause(): void {
    this.#away = true;
    this.#set(false);
  }

  leave(): void {
    this.#hub.dequeue(this.name, this);
    this.#sequence = undefined;
    this.#set(false);
    if (this.#closed) this.#onClose();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#set(false);
    if (!this.#away) this.leave();
  }

  #set(leading: boolean): void {
    if (this.#leading === leading) return;
    this.#leading = leading;
    this.#listeners.emit(leading);
  }
}
