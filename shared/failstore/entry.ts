/** What is to be kept. */
export interface NewEntry {
  /** Unique; a repeat of a pending one is ignored, a repeat of a dead one takes its place, at the end. */
  id: string;
  /** What it is, for its owner. */
  kind: string;
  /** What it concerns: entries of one key are sent in their order. */
  key: string;
  body: Buffer;
}

/** What is known of a kept entry beside its body. */
export interface EntryInfo {
  /** Place in the order of arrival; only grows. */
  seq: number;
  id: string;
  kind: string;
  key: string;
  /** Process start that stored it. */
  incarnation: string;
  /** Wall time in milliseconds since 1970 UTC. */
  storedAt: number;
  dead: boolean;
  tries: number;
  lastError: string;
  /** Node id of the dead neighbour from whose store it came; empty: stored by this node. */
  origin: string;
}

/** A kept entry. */
export interface StoredEntry extends EntryInfo {
  body: Buffer;
}

/** How much is kept. */
export interface FailStoreCounts {
  /** All of them, with the dead ones. */
  entries: number;
  dead: number;
  /** What counts against the limit. */
  bytes: number;
}

/** What came of one try to send an entry. */
export interface EntryTry {
  id: string;
  error: string;
  /** Whether it was refused for good. */
  dead: boolean;
}

/** Which entries to show. */
export interface ListOptions {
  deadOnly?: boolean;
  limit: number;
}
