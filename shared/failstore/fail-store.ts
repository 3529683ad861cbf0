import { mkdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { LtsError, messageOf } from '../errors/lts-error.js';
import type { Logger } from '../log/logger.js';
import { type Clock, systemClock } from '../time/clock.js';
import type { EntryInfo, EntryTry, FailStoreCounts, ListOptions, NewEntry, StoredEntry } from './entry.js';
import { FailStoreFile, type FailStoreFileOptions } from './fail-store-file.js';
import { adoptOrphans, type OrphanPlace } from './orphans.js';
import { type OwnerLock, takeOwnerLock } from './owner-lock.js';

/*
 * The FailStore: a queue on this disk for what could not be sent.
 *
 * Who owns what: a folder has one owner at a time, who holds its `owner.lock` (owner-lock.ts) from before it opens
 * `entries.db` until after it has closed it. A dead owner's lock is free at once; a paused one keeps it and is not
 * robbed. A process that finds `<dir>/<node id>` held takes `<dir>/<node id>-<incarnation>` instead.
 *
 * States of an entry: pending (is sent, in the order of `seq`) → removed (its receiver has it), or → dead (refused for
 * good; waits for a person) → pending again by revive().
 *
 * Take-over: whoever owns a folder of a node also empties the folders `<node id>-<incarnation>` that dead processes of
 * that node left (orphans.ts). It holds their lock for the whole move; first the entries are durable here, then they
 * are deleted there. A crash between the two leaves them in both places: they have the same ids, so their receiver
 * sees a repeat.
 *
 * On failure: a damaged file is set aside under a new name, with a log line, and a fresh one begun. A full disk or a full
 * store refuses the new entries only.
 */

/** All calls are synchronous; those that change something return when it is durable. Errors: STORE_FAILED. */
export interface FailStore {
  readonly folder: string;
  /** Incarnations of this node that wrote here, or into a folder emptied into this one, and have certainly ended. */
  readonly predecessors: readonly string[];
  readonly counts: Readonly<FailStoreCounts>;
  /** Keeps all of them in one durable transaction, or none: FAIL_STORE_FULL beyond the limit or on a full disk. */
  put(entries: readonly NewEntry[]): void;
  /** Pending entries after this place, in order: at most `limit`, and at most `maxBytes` of bodies (but at least one). */
  pending(afterSeq: number, limit: number, maxBytes?: number): StoredEntry[];
  get(id: string): StoredEntry | undefined;
  /** Forgets entries that their receiver has. */
  remove(ids: readonly string[]): void;
  noteTry(id: string, error: string, dead: boolean): void;
  /** Like noteTry, in one transaction. */
  noteTries(tries: readonly EntryTry[]): void;
  /** Dead ones first, then oldest first. */
  list(options: ListOptions): EntryInfo[];
  /** Makes these dead entries, or all dead ones, pending again; gives their number. */
  revive(ids: readonly string[] | 'all'): number;
  /** Whether the key has a pending entry. */
  hasKey(key: string): boolean;
  /** Moves in what dead processes of this node left; gives the number of entries. Also done by openFailStore. */
  adopt(): number;
  close(): void;
}

/** Where the FailStore lies and how large it may grow. */
export interface FailStoreOptions {
  /** Folder of all FailStores of this kind on this machine; made when missing. */
  dir: string;
  /** Stable name of the node. */
  nodeId: string;
  /** Fresh id of this process start. */
  incarnation: string;
  /** Limit of the sum of entries, each counted as its body and about 300 bytes. */
  maxBytes: number;
  log: Logger;
  clock?: Clock;
}

/** statfs types of file systems whose locks cannot be trusted. */
const networkTypes = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB2'],
  [0xff534d42, 'CIFS'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
]);

/**
 * Opens the FailStore of this process. Errors: CONFIG_INVALID (a network file system), STORE_FAILED (the folder cannot be
 * used), STORE_NEWER.
 */
export function openFailStore(options: FailStoreOptions): FailStore {
  const { dir, nodeId, incarnation, log } = options;
  const name = encodeURIComponent(nodeId);
  for (const folder of [join(dir, name), join(dir, `${name}-${incarnation}`)]) {
    prepareFolder(folder);
    const lock = takeOwnerLock(folder);
    if (lock === undefined) {
      log.warn('failstore.failed', { folder, what: 'held by a living process of this node; another folder is used' });
      continue;
    }
    try {
      const file = { incarnation, maxBytes: options.maxBytes, log, clock: options.clock ?? systemClock };
      const store = new OwnedFailStore(lock, file, { dir, name, own: folder, log });
      store.adopt();
      return store;
    } catch (error) {
      lock.release();
      throw error;
    }
  }
  throw new LtsError('STORE_FAILED', `the FailStore folders of node ${nodeId} in ${dir} are held by other processes; give each process its own node id`);
}

class OwnedFailStore extends FailStoreFile implements FailStore {
  readonly #lock: OwnerLock;
  readonly #place: OrphanPlace;

  constructor(lock: OwnerLock, file: FailStoreFileOptions, place: OrphanPlace) {
    super(place.own, file);
    this.#lock = lock;
    this.#place = place;
  }

  adopt(): number {
    return adoptOrphans(this, this.#place);
  }

  close(): void {
    this.closeFile();
    this.#lock.release();
  }
}

function prepareFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw new LtsError('STORE_FAILED', `cannot make the FailStore folder ${folder}: ${messageOf(error)}; choose another data folder`, { cause: error });
  }
  const network = networkTypes.get(statfsSync(folder).type >>> 0);
  if (network !== undefined) throw new LtsError('CONFIG_INVALID', `the FailStore folder ${folder} lies on ${network}; its locks do not hold there, choose a local disk`);
}
