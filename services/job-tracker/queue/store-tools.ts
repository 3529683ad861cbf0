import type { StoreIdentity } from './queue-store.js';

/** What a check found. */
export interface StoreReport {
  /** Where the store is, for people; without secrets. */
  store: string;
  identity: StoreIdentity;
  /** Number of the last migration that ran. */
  schema: number;
  /** What is wrong, a sentence each; empty: nothing. */
  problems: string[];
}

/** More than the changes of owner between a backup and its restore; epochs stay below 2^21, so there is room for some 200 restores. */
export const restoredEpochs = 10_000;

/** Work on a store from outside, for operators. A tracker may run meanwhile. Each opens and closes for itself. */
export interface StoreTools {
  /** Looks at all of the store; changes nothing. Rejects with STORE_FOREIGN, STORE_NEWER, STORE_FAILED, NOT_FOUND. */
  check(): Promise<StoreReport>;
  /** Copies the store as it is at one moment into a new file. Rejects with INVALID_ARGUMENT when the file exists. */
  backup(file: string): Promise<void>;
  /** Runs all migrations, also those that take away what an older release needs. Tells their names. */
  migrate(): Promise<string[]>;
  /**
   * Raises the epoch of every partition by `restoredEpochs`: whoever remembers epochs of a later state of the store than
   * this one follows it again. An owner that works on the store is fenced and takes its partitions anew.
   */
  raiseEpochs(): Promise<void>;
}
