import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LtsError } from '../errors/lts-error.js';
import { newId } from '../ids.js';
import { silentLogger } from '../log/logger.js';
import type { NewEntry } from './entry.js';
import { type FailStore, openFailStore } from './fail-store.js';

let dir: string;
const stores: FailStore[] = [];
const children: ChildProcess[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'failstore-'));
});

afterEach(() => {
  for (const store of stores.splice(0)) store.close();
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

function open(options: { incarnation?: string; maxBytes?: number; nodeId?: string } = {}): FailStore {
  const store = openFailStore({ dir, nodeId: 'node-1', incarnation: newId(), maxBytes: 1_000_000, log: silentLogger, ...options });
  stores.push(store);
  return store;
}

function entry(id: string, key = id, body = 'body'): NewEntry {
  return { id, kind: 'SUBMIT', key, body: Buffer.from(body) };
}

/** All that there is to take over now; gives the number of entries. */
function takeOver(store: FailStore): number {
  for (let moved = 0; ; ) {
    const step = store.takeOver();
    moved += step.moved;
    if (!step.more) return moved;
  }
}

function ids(entries: readonly { id: string }[]): string[] {
  return entries.map(({ id }) => id);
}

function reasonOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof LtsError) return error.reason;
    throw error;
  }
  return 'no error';
}

/** A process of its own that opens the FailStore, puts one entry and then stays. */
async function startOwner(incarnation: string, entryId: string): Promise<ChildProcess> {
  const module = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
  const script = `
    import { openFailStore } from ${module('./fail-store.js')};
    import { silentLogger } from ${module('../log/logger.js')};
    const store = openFailStore({ dir: ${JSON.stringify(dir)}, nodeId: 'node-1', incarnation: '${incarnation}', maxBytes: 1e6, log: silentLogger });
    store.put([{ id: '${entryId}', kind: 'SUBMIT', key: 'k', body: Buffer.from('of the child') }]);
    process.stdout.write(store.folder);
    setInterval(() => store.counts, 1000);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  await new Promise((resolve, reject) => child.stdout?.once('data', resolve) ?? reject(new Error('no output')));
  return child;
}

function kill(child: ChildProcess): Promise<void> {
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGKILL');
  return gone;
}

describe('entries', () => {
  it('come back in their order, after a place, bounded by number and by size', () => {
    const store = open();
    store.put([entry('a'), entry('b'), entry('c', 'c', 'x'.repeat(100))]);
    store.put([entry('d')]);
    const all = store.pending(0, 10);
    expect(ids(all)).toEqual(['a', 'b', 'c', 'd']);
    expect(all[0]).toMatchObject({ kind: 'SUBMIT', key: 'a', body: Buffer.from('body'), tries: 0, dead: false });
    expect(ids(store.pending(all[1]?.seq ?? 0, 1))).toEqual(['c']);
    expect(ids(store.pending(0, 10, 50))).toEqual(['a', 'b']);
    expect(ids(store.pending(all[1]?.seq ?? 0, 10, 50))).toEqual(['c']);
  });

  it('are counted as they come and go, also after a reopen', () => {
    const store = open();
    store.put([entry('a'), entry('b'), entry('c')]);
    store.put([entry('a')]);
    store.noteTry('b', 'refused', true);
    store.remove(['c', 'unknown']);
    const counts = { entries: 2, dead: 1, bytes: 2 * (4 + 300) };
    expect(store.counts).toEqual(counts);
    store.close();
    expect(open().counts).toEqual(counts);
  });

  it('are kept all or none when the limit is passed', () => {
    const store = open({ maxBytes: 1_000 });
    store.put([entry('a')]);
    expect(reasonOf(() => store.put([entry('b'), entry('c', 'c', 'x'.repeat(200))]))).toBe('FAIL_STORE_FULL');
    expect(ids(store.pending(0, 10))).toEqual(['a']);
    store.put([entry('b')]);
    expect(store.counts.entries).toBe(2);
  });

  it('die, are listed first, hold no key, and come back when revived or put again', () => {
    const store = open();
    store.put([entry('a'), entry('b'), entry('c')]);
    store.noteTry('b', 'not yet', false);
    store.noteTry('b', 'bad field', true);
    expect(ids(store.pending(0, 10))).toEqual(['a', 'c']);
    expect(store.hasKey('b')).toBe(false);
    expect(store.hasKey('a')).toBe(true);
    expect(ids(store.list({ limit: 2 }))).toEqual(['b', 'a']);
    expect(store.list({ deadOnly: true, limit: 10 })).toMatchObject([{ id: 'b', dead: true, tries: 2, lastError: 'bad field' }]);
    expect(store.revive(['a', 'b'])).toBe(1);
    expect(store.hasKey('b')).toBe(true);
    store.noteTry('b', 'again', true);
    store.put([entry('b')]);
    expect(store.counts).toMatchObject({ entries: 3, dead: 0 });
    store.noteTry('c', 'no', true);
    expect(store.revive('all')).toBe(1);
    expect(ids(store.pending(0, 10))).toEqual(['a', 'c', 'b']);
  });
});

describe('the file', () => {
  it('is synchronous=FULL in WAL at every open', () => {
    open().close();
    const pragma = vi.spyOn(Database.prototype, 'pragma');
    open().put([entry('a')]);
    const asked = pragma.mock.calls.map(([text], call) => `${text} -> ${String(pragma.mock.results[call]?.value)}`);
    pragma.mockRestore();
    expect(asked).toContain('journal_mode -> wal');
    expect(asked).toContain('synchronous -> 2');
  });

  it('is set aside when damaged, and a fresh one begun', () => {
    const first = open();
    first.put([entry('a')]);
    const { folder } = first;
    first.close();
    writeFileSync(join(folder, 'entries.db'), 'this is no database, it is just a text that is long enough to be read as a header'.repeat(20));
    const second = open();
    expect(second.counts.entries).toBe(0);
    second.put([entry('b')]);
    expect(ids(second.pending(0, 10))).toEqual(['b']);
    expect(readdirSync(folder).filter((name) => name.startsWith('entries.db.damaged-'))).toHaveLength(1);
  });

  it('of a newer format is refused, not touched', () => {
    const first = open();
    first.close();
    const database = new Database(join(first.folder, 'entries.db'));
    database.pragma('user_version = 99');
    database.close();
    expect(reasonOf(open)).toBe('STORE_NEWER');
  });
});

describe('the owner', () => {
  it('that was killed leaves its entries to the next one, who knows it as a predecessor', async () => {
    const before = newId();
    const child = await startOwner(before, 'of-child');
    await kill(child);
    const store = open();
    expect(store.folder).toBe(join(dir, 'node-1'));
    expect(store.predecessors).toEqual([before]);
    expect(ids(store.pending(0, 10))).toEqual(['of-child']);
  });

  it('that is paused is not robbed; after its death its folder is emptied', async () => {
    const before = newId();
    const child = await startOwner(before, 'of-child');
    child.kill('SIGSTOP');
    const mine = newId();
    const store = open({ incarnation: mine });
    expect(store.folder).toBe(join(dir, `node-1-${mine}`));
    expect(store.counts.entries).toBe(0);
    expect(store.predecessors).toEqual([]);
    expect(takeOver(store)).toBe(0);
    store.put([entry('mine')]);
    await kill(child);
    expect(takeOver(store)).toBe(1);
    expect(ids(store.pending(0, 10))).toEqual(['mine', 'of-child']);
    expect(store.predecessors).toEqual([before]);
    expect(existsSync(join(dir, 'node-1'))).toBe(false);
  });

  it('is one, also among two openers of one process', () => {
    const first = open();
    const second = open();
    const third = open();
    expect(new Set([first.folder, second.folder, third.folder]).size).toBe(3);
    second.put([entry('b')]);
    second.noteTry('b', 'refused', true);
    second.close();
    expect(takeOver(first)).toBe(1);
    expect(first.list({ limit: 10 })).toMatchObject([{ id: 'b', dead: true, lastError: 'refused' }]);
    expect(existsSync(third.folder)).toBe(true);
  });

  it('leaves the folders of other nodes alone', () => {
    const other = open({ nodeId: 'node-10' });
    other.put([entry('x')]);
    other.close();
    expect(open().counts.entries).toBe(0);
    expect(existsSync(other.folder)).toBe(true);
  });

  it('keeps an orphan folder that does not fit until there is room', () => {
    const first = open();
    const second = open();
    second.put([entry('big', 'big', 'x'.repeat(500))]);
    second.close();
    first.close();
    const small = open({ maxBytes: 1_000 });
    expect(ids(small.pending(0, 10))).toEqual(['big']);
    const next = open();
    next.put([entry('more', 'more', 'x'.repeat(500))]);
    next.close();
    expect(takeOver(small)).toBe(0);
    expect(existsSync(next.folder)).toBe(true);
    small.remove(['big']);
    expect(takeOver(small)).toBe(1);
    expect(existsSync(next.folder)).toBe(false);
  });
});
