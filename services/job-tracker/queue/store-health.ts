/** How the store is. */
export interface StoreHealth {
  /**
   * LOCKED: another process holds it. AWAY: its server cannot be reached or takes no writes; the store is itself again
   * as soon as one does. FAILED: for good, until the process is started again.
   */
  state: 'OK' | 'LOCKED' | 'AWAY' | 'FAILED' | 'CLOSED';
  message: string;
  /** Free bytes of its file system; undefined: not known here (a database server has its own). */
  freeBytes: number | undefined;
  /** The store's clock minus the clock of this host, in milliseconds. 0 for a store on this host. */
  clockOffsetMs: number;
  /** What works, but not as it should, for people. */
  warnings: StoreWarning[];
}

/** A stable word and a sentence with the value and what to do. */
export interface StoreWarning {
  reason: 'ACKS_NOT_DURABLE' | 'ACKS_NOT_REPLICATED' | 'LONG_SNAPSHOT' | 'CLOCK_OFFSET';
  message: string;
}
