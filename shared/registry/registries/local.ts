import { LtsError } from '../../errors/lts-error.js';
import { type Logger, silentLogger } from '../../log/logger.js';
import { checkCandidate, checkDocumentPath, checkName } from '../limits.js';
import { Listeners } from '../listeners.js';
import { checkMember, compareMembers } from '../member-codec.js';
import type { DocumentValue, Election, ElectionNode, Member, MemberKind, Registration, Registry, RegistryDocument, RegistryState, Subscription } from '../registry.js';
import { LocalDocument } from './local-document.js';
import { LocalElection, type LocalEntry, LocalRegistration } from './local-entries.js';
import { LocalRegistryHub, type LocalSession } from './local-hub.js';

/**
 * A registry inside one process, over a hub that several of them may share. For standalone use it is always LOCAL;
 * tests and simulations may suspend, resume and expire its session.
 */
export class LocalRegistry implements Registry, LocalSession {
  readonly #hub: LocalRegistryHub;
  readonly #log: Logger;
  readonly #states: Listeners<RegistryState>;
  readonly #entries = new Set<LocalEntry & { close(): Promise<void> }>();
  readonly #looks = new Set<() => void>();
  readonly #unwatch: () => void;
  #state: RegistryState = 'LOCAL';

  constructor(hub: LocalRegistryHub = new LocalRegistryHub(), log: Logger = silentLogger) {
    this.#hub = hub;
    this.#log = log;
    this.#states = new Listeners(log);
    this.#unwatch = hub.onChange(() => this.#refresh());
  }

  get state(): RegistryState {
    return this.#state;
  }

  onState(listener: (state: RegistryState) => void): Subscription {
    return this.#states.add(listener);
  }

  async start(): Promise<void> {
    this.#requireGood();
  }

  register(member: Member): Registration {
    const registration: LocalRegistration = new LocalRegistration(this.#hub, checkMember(member), () => this.#entries.delete(registration));
    return this.#keep(registration);
  }

  elect(name: string, candidateId: string): Election {
    const close = (): boolean => this.#entries.delete(election);
    const election: LocalElection = new LocalElection(this.#hub, checkName('election', name), checkCandidate(candidateId), this.#log, close);
    return this.#keep(election);
  }

  async electionNodes(name: string): Promise<ElectionNode[]> {
    this.#requireGood();
    return this.#hub.queue(name).map(({ candidateId, sequence }) => ({ candidateId, sequence }));
  }

  watchMembers(kind: MemberKind, listener: (members: readonly Member[]) => void): Subscription {
    const read = (): Member[] => this.#hub.members(kind).toSorted(compareMembers);
    return this.#watch(read, (members) => JSON.stringify(members), listener);
  }

  /** There are none: what is made here is made at once. */
  onOrphan(): Subscription {
    return { close: () => undefined };
  }

  document(path: string): RegistryDocument {
    checkDocumentPath(path);
    const watch = (listener: (value: DocumentValue | null) => void): Subscription =>
      this.#watch(() => this.#hub.document(path), (value) => `${value?.version}`, listener);
    return new LocalDocument(this.#hub, path, () => this.#requireGood(), watch);
  }

  async close(): Promise<void> {
    for (const entry of this.#entries) await entry.close();
    // The end of the session takes along what could not leave by itself.
    for (const entry of this.#entries) entry.leave();
    this.#unwatch();
    this.#looks.clear();
    this.#set('CLOSED');
  }

  /** The session stops answering; what is registered stays. */
  suspend(): void {
    if (this.#state === 'CLOSED') return;
    this.#set('SUSPENDED');
    for (const entry of this.#entries) entry.pause();
  }

  /** The session answers again. */
  resume(): void {
    if (this.#state === 'CLOSED') return;
    this.#set('LOCAL');
    this.#refresh();
  }

  /** The session ends; a new one begins in a later turn, unless it is suspended. */
  expire(): void {
    if (this.#state === 'CLOSED') return;
    const suspended = this.#state === 'SUSPENDED';
    this.#set('LOST');
    for (const entry of this.#entries) entry.leave();
    if (!suspended) setImmediate(() => this.#state === 'LOST' && this.resume());
  }

  #keep<E extends LocalEntry & { close(): Promise<void> }>(entry: E): E {
    this.#requireOpen();
    this.#entries.add(entry);
    if (this.#state === 'LOCAL') entry.enter();
    return entry;
  }

  #watch<T>(read: () => T, fingerprint: (value: T) => string, listener: (value: T) => void): Subscription {
    this.#requireOpen();
    const listeners = new Listeners<T>(this.#log);
    listeners.add(listener);
    let shown: string | undefined;
    const look = (): void => {
      if (this.#state !== 'LOCAL' || !this.#looks.has(look)) return;
      const value = read();
      const print = fingerprint(value);
      if (print === shown) return;
      shown = print;
      listeners.emit(value);
    };
    this.#looks.add(look);
    queueMicrotask(look);
    return { close: () => void this.#looks.delete(look) };
  }

  #refresh(): void {
    if (this.#state !== 'LOCAL') return;
    for (const entry of this.#entries) entry.enter();
    for (const look of this.#looks) look();
  }

  #set(state: RegistryState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#states.emit(state);
  }

  #requireOpen(): void {
    if (this.#state === 'CLOSED') throw new LtsError('REGISTRY_UNAVAILABLE', 'the registry is closed');
  }

  #requireGood(): void {
    if (this.#state !== 'LOCAL') throw new LtsError('REGISTRY_UNAVAILABLE', `the registry is ${this.#state}`);
  }
}
