import { LtsError } from '../../shared/errors/lts-error.js';
import { LocalRegistry } from '../../shared/registry/registries/local.js';
import type { LocalRegistryHub } from '../../shared/registry/registries/local-hub.js';
import type {
  DocumentValue, Election, ElectionNode, Member, MemberKind, Registration, Registry, RegistryDocument, RegistryState, Subscription,
} from '../../shared/registry/registry.js';
import { type Process, Queue, type Scheduler } from './scheduler.js';

/** How long the registry waits for a client that is silent. */
export const sessionMs = 10_000;

/**
 * A session with the registry over a network: what it tells comes late, in its order, and while the session is cut not
 * at all. A session that is cut for too long ends on the other side; this side hears of it when it is back.
 */
export class SimRegistry implements Registry {
  readonly #inner: LocalRegistry;
  readonly #scheduler: Scheduler;
  readonly #process: Process;
  readonly #listeners = new Set<(state: RegistryState) => void>();
  #state: RegistryState = 'CONNECTED';
  #cuts = 0;
  #cutNumber = 0;
  /** Until then this side may take the session for good. */
  #trustedUntil = Number.POSITIVE_INFINITY;
  readonly #told: Queue;

  constructor(hub: LocalRegistryHub, scheduler: Scheduler, process: Process) {
    this.#inner = new LocalRegistry(hub);
    this.#scheduler = scheduler;
    this.#process = process;
    this.#told = new Queue(scheduler);
    this.#inner.onState((state) => this.#post(`registry ${state}`, () => this.#show(state === 'LOCAL' ? 'CONNECTED' : state), state === 'SUSPENDED' ? 3_000 : 5));
  }

  get state(): RegistryState {
    return this.#trusted ? this.#state : 'SUSPENDED';
  }

  onState(listener: (state: RegistryState) => void): Subscription {
    this.#listeners.add(listener);
    return { close: () => void this.#listeners.delete(listener) };
  }

  async start(): Promise<void> {
    await this.#inner.start();
  }

  onOrphan(): Subscription {
    return this.#inner.onOrphan();
  }

  register(member: Member): Registration {
    return this.#inner.register(member);
  }

  watchMembers(kind: MemberKind, listener: (members: readonly Member[]) => void): Subscription {
    return this.#inner.watchMembers(kind, (members) => this.#post('members', () => listener(members)));
  }

  elect(name: string, candidateId: string): Election {
    const inner = this.#inner.elect(name, candidateId);
    const listeners = new Set<(leading: boolean) => void>();
    let leading = false;
    let sequence: number | undefined;
    inner.onChange((now) => {
      const place = inner.sequence;
      this.#post(`leading ${now}`, () => {
        if (leading === now) return;
        leading = now;
        sequence = place;
        for (const listener of listeners) listener(now);
      });
    });
    const isLeading = (): boolean => leading && this.#trusted;
    return {
      name,
      candidateId,
      get leading() {
        return isLeading();
      },
      get sequence() {
        return sequence;
      },
      onChange: (listener) => {
        listeners.add(listener);
        return { close: () => void listeners.delete(listener) };
      },
      close: () => inner.close(),
    };
  }

  electionNodes(name: string): Promise<ElectionNode[]> {
    return this.#ask('election', () => this.#inner.electionNodes(name));
  }

  document(path: string): RegistryDocument {
    const inner = this.#inner.document(path);
    return {
      path,
      read: () => this.#ask(`read ${path}`, () => inner.read()),
      write: (data, expected) => this.#ask(`write ${path}`, () => inner.write(data, expected)),
      watch: (listener: (value: DocumentValue | null) => void) => inner.watch((value) => this.#post(`document ${path} ${value?.version}`, () => listener(value))),
    };
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }

  /** Nothing passes in either direction until the returned function is called. */
  cut(): () => void {
    const number = ++this.#cutNumber;
    if (this.#cuts++ === 0) {
      this.#trustedUntil = this.#scheduler.now + (sessionMs * 2) / 3;
      this.#inner.suspend();
      this.#scheduler.after(sessionMs, 'session expires', () => {
        if (this.#cuts > 0 && this.#cutNumber === number) this.#inner.expire();
      });
    }
    return () => {
      if (--this.#cuts > 0 || !this.#process.alive) return;
      this.#cutNumber++;
      this.#post('registry answers', () => {
        if (this.#cuts === 0) this.#trustedUntil = Number.POSITIVE_INFINITY;
      });
      this.#inner.resume();
    };
  }

  /** The process is gone: its session ends after its time. */
  abandon(): void {
    this.#scheduler.after(sessionMs, 'session expires', () => {
      this.#inner.suspend();
      this.#inner.expire();
      void this.#inner.close();
    });
  }

  get #trusted(): boolean {
    return this.#scheduler.now < this.#trustedUntil;
  }

  #show(state: RegistryState): void {
    if (this.#state === state) return;
    this.#state = state;
    for (const listener of this.#listeners) listener(state);
  }

  /** Calls in the process, after what was told before. */
  #post(what: string, tell: () => void, usualMs = 5): void {
    this.#told.after(this.#scheduler.random.tail(usualMs, Math.max(usualMs, 1_000)), what, tell, this.#process);
  }

  #ask<T>(what: string, ask: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const refuse = (): void => this.#post(`${what} refused`, () => reject(new LtsError('REGISTRY_UNAVAILABLE', 'the registry does not answer')));
      if (this.#cuts > 0) return refuse();
      this.#scheduler.after(this.#scheduler.random.tail(2, 200), what, () => {
        if (this.#cuts > 0) return refuse();
        const answer = (tell: () => void): void => (this.#cuts > 0 ? refuse() : this.#post(`${what} answered`, tell));
        ask().then(
          (value) => answer(() => resolve(value)),
          (error: unknown) => answer(() => reject(error as Error)),
        );
      });
    });
  }
}
