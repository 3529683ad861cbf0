/**
 * How good the word of the registry is right now.
 * - CONNECTED: the session is good and answers.
 * - SUSPENDED: it does not answer, or this process was too slow to know; nobody is evicted yet and nobody may lead.
 * - LOST: there is no session, or it must be taken for ended; what was registered is registered anew at the next one.
 *   Also the state before the first connection.
 * - LOCAL: a registry inside this process, always good.
 * - CLOSED: closed by its owner, for good.
 */
export type RegistryState = 'CONNECTED' | 'SUSPENDED' | 'LOST' | 'LOCAL' | 'CLOSED';

/** Whether members, leaders and documents may be trusted as they are shown. */
export function isGood(state: RegistryState): boolean {
  return state === 'CONNECTED' || state === 'LOCAL';
}

/** The services that announce themselves. */
export const memberKinds = ['job-tracker', 'job-client', 'task-tracker'] as const;
export type MemberKind = (typeof memberKinds)[number];

/** One live process. What is read from others is checked for form and size, never trusted for its meaning. */
export interface Member {
  kind: MemberKind;
  nodeId: string;
  /** Fresh at each process start, so that an address which comes back is a new member. */
  incarnation: string;
  /** Empty for services without a group. */
  nodeGroup: string;
  /** host:port of its gRPC server; empty when it has none. */
  address: string;
  version: string;
  /** Wall time in milliseconds since 1970 UTC, by its own clock; for display only. */
  startedAt: number;
  /** Of trackers: the version of their time zone rules. A former release tells none. */
  tzdata?: string | undefined;
}

/** Something that calls back until it is closed. */
export interface Subscription {
  close(): void;
}

/** A member that this process keeps registered, through every lost session, until it is closed. */
export interface Registration {
  readonly member: Member;
  /** Whether it was in the registry when last looked at, in the current session. */
  readonly registered: boolean;
  /** Resolves when it is registered for the first time; rejects with CANCELLED when it is closed before. */
  ready(): Promise<void>;
  /** Removes it. Resolves when it is gone, or at once while the registry is away (it is then removed at the next contact). */
  close(): Promise<void>;
}

/** One candidate of one election. */
export interface Election {
  readonly name: string;
  readonly candidateId: string;
  /** True only while this process may act as leader: checked against the clock at each read, not a remembered event. */
  readonly leading: boolean;
  /**
   * Number of the candidate's place in the queue, given by the registry; a later leader has a greater one. It tells
   * leaders apart but is no fence: it starts again when the registry's data is wiped. Undefined without a place.
   */
  readonly sequence: number | undefined;
  /** Called at each change of `leading`, and once at the beginning when it leads already. */
  onChange(listener: (leading: boolean) => void): Subscription;
  /** Leaves the queue. Resolves when the place is gone, or at once while the registry is away. */
  close(): Promise<void>;
}

/** A place in the queue of an election. */
export interface ElectionNode {
  candidateId: string;
  sequence: number;
}

/** The bytes of a document with the number of its version, 1 or more. One above the size limit, which none of us wrote, is shown without its bytes. */
export interface DocumentValue {
  data: Uint8Array;
  version: number;
}

/** A small shared value that changes by compare-and-set. */
export interface RegistryDocument {
  readonly path: string;
  /** The value; null when there is none. REGISTRY_UNAVAILABLE while the registry does not answer. */
  read(): Promise<DocumentValue | null>;
  /**
   * Replaces exactly the expected version, or creates, and returns the new version. VERSION_CONFLICT when another was
   * faster; INVALID_ARGUMENT above the size limit; REGISTRY_UNAVAILABLE when the outcome is not known: read again.
   */
  write(data: Uint8Array, expected: number | 'create'): Promise<number>;
  /** Calls with the value as soon as it is known, at each change that is seen (changes may coalesce), and after every reconnect when it differs. */
  watch(listener: (value: DocumentValue | null) => void): Subscription;
}

/**
 * Who is alive, who leads, who is assigned what. It is never the fence: that is the epoch in the store.
 *
 * Nothing here waits for a registry that is away: registrations, elections and watches take effect when it is back,
 * reads and writes of documents are refused at once.
 */
export interface Registry {
  /** Checked against the clock at each read. */
  readonly state: RegistryState;
  /** Called at each change, never with the state it had already. */
  onState(listener: (state: RegistryState) => void): Subscription;
  /** Resolves at the first good state; rejects with REGISTRY_UNAVAILABLE when its deadline passes before. */
  start(): Promise<void>;
  /** Keeps the member registered from now on. INVALID_ARGUMENT for a member with fields out of their bounds. */
  register(member: Member): Registration;
  /**
   * Calls with the whole list as soon as it is known, at each change, and after every reconnect when it differs. While
   * the registry is away the last known list stands.
   */
  watchMembers(kind: MemberKind, listener: (members: readonly Member[]) => void): Subscription;
  /** Takes part in the election from now on. */
  elect(name: string, candidateId: string): Election;
  /** The queue of an election in its order: the first leads. */
  electionNodes(name: string): Promise<ElectionNode[]>;
  /** Calls with each node of this process that belonged to nothing any more and was removed, by its path. */
  onOrphan(listener: (path: string) => void): Subscription;
  /** A document by its path: names of letters, digits, `.`, `_`, `-`, parted by `/`. */
  document(path: string): RegistryDocument;
  /** Leaves: removes what this process has registered, ends the session. Never rejects. */
  close(): Promise<void>;
}
