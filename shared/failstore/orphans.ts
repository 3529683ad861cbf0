import { readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { LtsError } from '../errors/lts-error.js';
import { isId } from '../ids.js';
import type { Logger } from '../log/logger.js';
import { systemClock } from '../time/clock.js';
import { FailStoreFile } from './fail-store-file.js';
import { takeOwnerLock } from './owner-lock.js';

/** Where to look for folders of dead processes. */
export interface OrphanPlace {
  dir: string;
  /** Folder name of the node; those of its other processes are `<name>-<incarnation>`. */
  name: string;
  /** The folder that is this process's own. */
  own: string;
  log: Logger;
}

/** Moves the entries of all folders that dead processes of this node left; gives their number. Never throws. */
export function adoptOrphans(into: FailStoreFile, place: OrphanPlace): number {
  let moved = 0;
  for (const folder of orphanFolders(place)) {
    try {
      moved += adoptOne(into, folder, place.log);
    } catch (error) {
      // A full store: the rest stays where it is until there is room.
      place.log.warn('failstore.failed', { what: 'the entries of a dead process could not be moved', folder, error });
      if (error instanceof LtsError && error.reason === 'FAIL_STORE_FULL') break;
    }
  }
  return moved;
}

function orphanFolders({ dir, name, own }: OrphanPlace): string[] {
  const prefix = `${name}-`;
  const mine = (found: string): boolean => found === name || (found.startsWith(prefix) && isId(found.slice(prefix.length)));
  return readdirSync(dir)
    .filter(mine)
    .map((found) => join(dir, found))
    .filter((folder) => folder !== own)
    .toSorted();
}

function adoptOne(into: FailStoreFile, folder: string, log: Logger): number {
  const lock = takeOwnerLock(folder);
  if (lock === undefined) return 0;
  try {
    const from = new FailStoreFile(folder, { incarnation: '', maxBytes: 0, log, clock: systemClock });
    try {
      return moveAll(from, into);
    } finally {
      from.closeFile();
      if (from.counts.entries === 0) removeEmpty(folder);
    }
  } finally {
    lock.release();
  }
}

function moveAll(from: FailStoreFile, into: FailStoreFile): number {
  into.notePredecessors(from.predecessors);
  let moved = 0;
  const move = (ids: readonly string[]): void => {
    into.putAs(ids.flatMap((id) => from.get(id) ?? []));
    from.remove(ids);
    moved += ids.length;
  };
  for (let batch = from.pending(0, 100); batch.length > 0; batch = from.pending(0, 100)) move(batch.map((entry) => entry.id));
  for (let dead = from.list({ limit: 10 }); dead.length > 0; dead = from.list({ limit: 10 })) move(dead.map((entry) => entry.id));
  return moved;
}

const ownFiles = ['entries.db', 'entries.db-wal', 'entries.db-shm', 'owner.lock-journal', 'owner.lock'];

/** The lock is held, and only files that hold nothing are deleted: one that was set aside keeps its folder. */
function removeEmpty(folder: string): void {
  if (readdirSync(folder).some((name) => !ownFiles.includes(name))) return;
  for (const name of ownFiles) rmSync(join(folder, name), { force: true });
  rmdirSync(folder);
}
