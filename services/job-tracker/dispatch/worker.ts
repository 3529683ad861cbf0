import type { Timer } from '../../../shared/time/clock.js';
import type { Execution } from '../queue/owned-groups.js';
import type { WorkerIdentity } from '../queue/queue-store.js';
import type { WorkerSession } from './worker-session.js';

/** What a worker says of itself, for people. */
export interface WorkerInfo {
  workThreads: number;
  host: string;
  pid: number;
  version: string;
  address: string;
}

/**
 * One process start of a TaskTracker, as the owner knows it: with a session, or without one while its grace time runs.
 */
export class Worker {
  readonly identity: WorkerIdentity;
  readonly group: string;
  readonly since: number;
  info: WorkerInfo = { workThreads: 0, host: '', pid: 0, version: '', address: '' };
  /** Runner types; empty: any. */
  types: ReadonlySet<string> = new Set();
  /** Incarnations that have ended for certain: it holds their FailStore and speaks for them. */
  predecessors: ReadonlySet<string> = new Set();
  /** Incarnations of which it has brought results: it has taken over their FailStore, or begun to. */
  readonly delivers = new Set<string>();
  session: WorkerSession | undefined;
  /** Whether its Inventory under the current epoch is complete; it gets tasks only then. */
  confirmed = false;
  /** Number of the last question what it has; it repeats it in its answer, or says 0. */
  question = 0;
  /** When it was asked last, in monotonic milliseconds. */
  askedAt = 0;
  /** Whether its answers name the question: then it can be asked again while it works. */
  repeatsQuestion = false;
  /** It was asked again while it works: what it held then. */
  questioned: ReadonlySet<Execution> | undefined;
  /** What it listed so far, by instance id. */
  inventory = new Map<string, { attempt: number; finished: boolean }>();
  /** The attempts that it has, by the store. */
  readonly executions = new Set<Execution>();
  /** Attempts that have provably not started: to be sent again under the same number. */
  resend: Execution[] = [];
  grace: Timer | undefined;
  /** Its clock is far from the store's, which was told. */
  clockIsApart = false;
  /** It gets nothing new; what it has ends normally. */
  drained = false;

  constructor(identity: WorkerIdentity, group: string, since: number) {
    this.identity = identity;
    this.group = group;
    this.since = since;
  }

  /** Before its partition is adopted anew: its attempts are other objects then. */
  forget(): void {
    this.executions.clear();
    this.resend = [];
    this.confirmed = false;
  }

  endGrace(): void {
    this.grace?.cancel();
    this.grace = undefined;
  }

  /** Tasks that may be started for it now. */
  get credits(): number {
    return this.drained ? 0 : this.ownCredits;
  }

  /** Tasks that may be sent to it again: also a drained worker ends what it was given. */
  get ownCredits(): number {
    return this.confirmed && this.session !== undefined ? this.session.credits : 0;
  }

  /** Whether it is connected and may be given what it runs. */
  get available(): boolean {
    return this.confirmed && !this.drained;
  }

  /** Whether it brings the results of that one too: of its node, or a dead neighbour whose FailStore it holds. */
  speaksFor({ nodeId, incarnation }: WorkerIdentity): boolean {
    return nodeId === this.identity.nodeId || this.predecessors.has(incarnation) || this.delivers.has(incarnation);
  }

  runs(type: string): boolean {
    return this.types.size === 0 || this.types.has(type);
  }
}
