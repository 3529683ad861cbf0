import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { toLtsError } from '../errors/lts-error.js';
import { isId } from '../ids.js';
import type { Logger } from '../log/logger.js';
import { systemClock } from '../time/clock.js';
import type { StoredEntry } from './entry.js';
import { FailStoreFile } from './fail-store-file.js';
import { identityFile, readIdentity, sameNames, sameScope, type StoreScope } from './folder-identity.js';
import { requireLocalDisk } from './local-disk.js';
import { type OwnerLock, takeOwnerLock } from './owner-lock.js';

/** Where to look for folders of dead processes. */
export interface TakeOverPlace {
  dir: string;
  /** Folder name of the node; those of its other processes are `<name>-<incarnation>`. */
  name: string;
  /** The folder that is this process's own. */
  own: string;
  /** Without it the folders of other nodes are left alone. */
  scope: StoreScope | undefined;
  log: Logger;
}

/** A dead process's folder: this node's own from another start, or a neighbour's. */
interface Found {
  folder: string;
  /** Node id of the neighbour; empty: this node. */
  neighbour: string;
}

/** A folder that is being emptied; its lock is held until it is empty, or until no more of it fits. */
interface Taking extends Found {
  lock: OwnerLock;
  from: FailStoreFile;
  moved: number;
}

/** What one step did. */
export interface TakeOverStep {
  /** Entries that are now here. */
  moved: number;
  /** They lie behind this place. */
  afterSeq: number;
  /** There is more to move at once. */
  more: boolean;
}

/** One step moves so much at most: all calls are synchronous, and other work waits meanwhile. */
const stepEntries = 200;
const stepBytes = 1024 * 1024;

/**
 * Moves what dead processes have left into the store of a living one: those of its node, and, within a scope, its
 * neighbours.
 *
 *   look round → lock a folder → move a piece, step by step → empty: remove the folder → unlock → next folder
 *
 * The lock is held from the first look into a folder until it is removed. A piece is durable here before it is deleted
 * there, under the same ids: a kill between the two leaves repeats, never a loss. An owner that comes back meanwhile finds
 * its folder locked and begins another. What does not fit stays where it is, unlocked, for one that has room.
 */
export class TakeOver {
  readonly #into: FailStoreFile;
  readonly #place: TakeOverPlace;
  #found: Found[] = [];
  #taking: Taking | undefined;
  /** Folders whose trouble was told. */
  readonly #told = new Set<string>();

  constructor(into: FailStoreFile, place: TakeOverPlace) {
    this.#into = into;
    this.#place = place;
  }

  /** A bounded piece of the work. `neighbours`: begin with their folders too. Never throws. */
  step(neighbours: boolean): TakeOverStep {
    let afterSeq = 0;
    this.#guard(this.#place.dir, () => {
      afterSeq = this.#into.lastSeq;
      if (this.#taking === undefined && this.#found.length === 0) this.#found = this.#lookRound(neighbours);
    });
    while (this.#taking === undefined) {
      const next = this.#found.shift();
      if (next === undefined) return { moved: 0, afterSeq, more: false };
      this.#guard(next.folder, () => this.#begin(next));
    }
    const taking = this.#taking;
    const before = taking.moved;
    this.#guard(taking.folder, () => this.#move(taking));
    return { moved: taking.moved - before, afterSeq, more: this.#taking !== undefined || this.#found.length > 0 };
  }

  /** Lets go of a folder that is not empty yet. */
  close(): void {
    this.#letGo(false);
    this.#found = [];
  }

  #lookRound(neighbours: boolean): Found[] {
    const { dir, own } = this.#place;
    return readdirSync(dir, { withFileTypes: true })
      .filter((each) => each.isDirectory() && join(dir, each.name) !== own && existsSync(join(dir, each.name, 'entries.db')))
      .flatMap(({ name }) => this.#judge(name) ?? [])
      .filter(({ neighbour }) => neighbours || neighbour === '')
      .toSorted((a, b) => (a.folder < b.folder ? -1 : 1));
  }

  /** Undefined: it is none of this process's business. */
  #judge(name: string): Found | undefined {
    const { dir, name: node, scope } = this.#place;
    const folder = join(dir, name);
    const identity = readIdentity(folder);
    const prefix = `${node}-`;
    if (name === node || (name.startsWith(prefix) && isId(name.slice(prefix.length)))) {
      return identity === undefined || scope === undefined || sameNames(identity, scope) ? { folder, neighbour: '' } : undefined;
    }
    return identity !== undefined && scope !== undefined && sameScope(identity, scope) ? { folder, neighbour: identity.nodeId } : undefined;
  }

  #begin(found: Found): void {
    const { folder } = found;
    requireLocalDisk(folder);
    const lock = takeOwnerLock(folder);
    if (lock === undefined) return;
    try {
      // Another process may have emptied it, or may have made it its own, since it was looked at.
      const still = existsSync(join(folder, 'entries.db')) ? this.#judge(folder.slice(this.#place.dir.length + 1)) : undefined;
      if (still === undefined) return lock.release();
      const from = new FailStoreFile(folder, { incarnation: '', maxBytes: 0, log: this.#place.log, clock: systemClock });
      this.#taking = { ...still, lock, from, moved: 0 };
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  #move(taking: Taking): void {
    const { from, neighbour } = taking;
    const pending = from.pending(0, stepEntries, stepBytes);
    const batch = pending.length > 0 ? pending : from.list({ deadOnly: true, limit: 10 }).flatMap(({ id }) => from.get(id) ?? []);
    if (batch.length > 0) {
      const named = batch.map((entry): StoredEntry => ({ ...entry, origin: entry.origin === '' ? neighbour : entry.origin }));
      const fitting = named.slice(0, Math.max(this.#into.countFitting(named), 1));
      this.#into.putAs(fitting);
      from.remove(fitting.map(({ id }) => id));
      taking.moved += fitting.length;
    }
    if (from.counts.entries > 0) return;
    // Not earlier: who names an incarnation as ended has everything that it finished.
    this.#into.notePredecessors(from.predecessors);
    this.#letGo(true);
  }

  #letGo(empty: boolean): void {
    const taking = this.#taking;
    if (taking === undefined) return;
    this.#taking = undefined;
    const { lock, from, folder, neighbour, moved } = taking;
    try {
      from.closeFile();
      if (empty) removeFolder(folder);
    } finally {
      lock.release();
    }
    if (moved > 0) this.#place.log.info('failstore.taken_over', { folder, from: neighbour === '' ? 'an earlier process of this node' : neighbour, entries: moved, left: from.counts.entries });
    if (empty) this.#told.delete(folder);
  }

  /** Trouble with one folder is told once, and the folder left as it is; the others are not kept from it. */
  #guard(folder: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      const known = toLtsError(error);
      this.#letGo(false);
      if (known.reason === 'FAIL_STORE_FULL') this.#found = [];
      if (this.#told.has(folder)) return;
      this.#told.add(folder);
      this.#place.log.warn('failstore.failed', { what: 'what dead processes left could not be moved; it stays where it is', folder, reason: known.reason, error });
    }
  }
}

/** In this order: what is left after a kill is either found again or holds nothing. */
const ownFiles = ['entries.db-wal', 'entries.db-shm', 'owner.lock-journal', `${identityFile}.new`, identityFile, 'entries.db', 'owner.lock'];

/** The lock is held, and only files that hold nothing are deleted: one that was set aside stays, with the folder. */
function removeFolder(folder: string): void {
  for (const name of ownFiles) rmSync(join(folder, name), { force: true });
  try {
    rmdirSync(folder);
  } catch {
    // It holds what was set aside, or its owner has begun it anew.
  }
}
