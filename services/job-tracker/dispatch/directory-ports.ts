import type { Execution } from '../queue/owned-groups.js';

/** What the directory tells to others. */
export interface DirectoryEvents {
  /** Slots or resends may be there for the group. */
  slotsChanged(group: string): void;
  /** The attempt is lost with its worker. */
  lost(execution: Execution): void;
  /** The attempt never began: its worker left in good order. */
  unstarted(execution: Execution): void;
  /** Something was found wrong and is mended. */
  mended(kind: 'ATTEMPT_RESENT' | 'WORKER_ASKED', fields: Record<string, unknown>): void;
}

/** Identity and times that a session is told. */
export interface DirectorySettings {
  trackerId(): string;
  storeId(): string;
  isDrained(nodeId: string): boolean;
  graceMs: number;
  pingIntervalMs: number;
}
