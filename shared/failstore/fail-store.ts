import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { LtsError, messageOf } from '../errors/lts-error.js';
import type { Logger } from '../log/logger.js';
import { type Clock, systemClock } from '../time/clock.js';
import type { EntryInfo, EntryTry, FailStoreCounts, ListOptions, NewEntry, StoredEntry } from './entry.js';
import { FailStoreFile, type FailStoreFileOptions } from './fail-store-file.js';
import { type FolderIdentity, readIdentity, sameNames, type StoreScope, writeIdentity } from './folder-identity.js';
import { requireLocalDisk } from './local-disk.js';
import { type OwnerLock, takeOwnerLock } from './owner-lock.js';
import { TakeOver, type TakeOverPlace, type TakeOverStep } from './take-over.js';

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
 * Take-over (take-over.ts): whoever owns a folder also empties those that dead processes left: at once the folders
 * `<node id>-<incarnation>` of its own node, and step by step, while it runs, those of its neighbours: nodes of the same
 * kind, cluster and group whose folders lie beside its own (folder-identity.ts). It holds their lock for the whole move;
 * first the entries are durable here, then they are deleted there. A crash between the two leaves them in both places:
 * they have the same ids, so their receiver sees a repeat.
 *
 * On failure: a damaged file is set aside under a new name, with a log line, and a fresh one begun. A full disk or a full
 * store refuses the new entries only.
 */

/** All calls are synchronous; those that change something return when it is durable. Errors: STORE_FAILED. */
export interface FailStore {
  readonly folder: string;
  /** Incarnations, of this node or of neighbours, that wrote here, or into a folder emptied into this one, and have certainly ended. */
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
  /**
   * Moves in a piece of what dead processes of this node or of its neighbours left. To be called every 10 s or so, and
   * again at once while there is more. Never throws.
   */
  takeOver(): TakeOverStep;
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
  /** Who its neighbours are. Without it none are taken over, and none takes over this one. */
  scope?: StoreScope;
  log: Logger;
  clock?: Clock;
}

/**
 * Opens the FailStore of this process. Errors: CONFIG_INVALID (a network file system), STORE_FAILED (the folder cannot be
 * used), STORE_NEWER.
 */
export function openFailStore(options: FailStoreOptions): FailStore {
  const { dir, nodeId, incarnation, scope, log } = options;
  const name = encodeURIComponent(nodeId);
  for (const folder of [join(dir, name), join(dir, `${name}-${incarnation}`)]) {
    prepareFolder(folder);
    const lock = takeOwnerLock(folder);
    if (lock === undefined) {
      log.warn('failstore.failed', { folder, what: 'held by a living process; another folder is used' });
      continue;
    }
    const before = readIdentity(folder);
    if (scope !== undefined && before !== undefined && !sameNames(before, scope)) {
      log.warn('failstore.failed', { folder, what: `belongs to cluster ${before.cluster}, group ${before.nodeGroup || '-'}; another folder is used` });
      lock.release();
      continue;
    }
    try {
      if (scope !== undefined) introduce(folder, { ...scope, nodeId }, log);
      const file = { incarnation, maxBytes: options.maxBytes, log, clock: options.clock ?? systemClock };
      return new OwnedFailStore(lock, file, { dir, name, own: folder, scope, log });
    } catch (error) {
      lock.release();
      throw error;
    }
  }
  throw new LtsError('STORE_FAILED', `the FailStore folders of node ${nodeId} in ${dir} are held by other processes; give each process its own node id`);
}

class OwnedFailStore extends FailStoreFile implements FailStore {
  readonly #lock: OwnerLock;
  readonly #takeOver: TakeOver;

  constructor(lock: OwnerLock, file: FailStoreFileOptions, place: TakeOverPlace) {
    super(place.own, file);
    this.#lock = lock;
    this.#takeOver = new TakeOver(this, place);
    // What this node left is here from the beginning: those who read the store at the start find it.
    while (this.#takeOver.step(false).more);
  }

  takeOver(): TakeOverStep {
    return this.#takeOver.step(true);
  }

  close(): void {
    this.#takeOver.close();
    this.closeFile();
    this.#lock.release();
  }
}

/** Without it neighbours leave the folder alone; that is no reason not to start. */
function introduce(folder: string, identity: FolderIdentity, log: Logger): void {
  try {
    writeIdentity(folder, identity);
  } catch (error) {
    log.warn('failstore.failed', { folder, what: 'its identity cannot be written: no neighbour will take over from here', error });
  }
}

function prepareFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw new LtsError('STORE_FAILED', `cannot make the FailStore folder ${folder}: ${messageOf(error)}; choose another data folder`, { cause: error });
  }
  requireLocalDisk(folder);
}
