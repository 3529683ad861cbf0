import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { LtsError } from '../errors/lts-error.js';
import type { Logger } from '../log/logger.js';
import type { Clock } from '../time/clock.js';
import { isDamage, openEntries, setAside, toStoreError } from './entries-db.js';
import type { EntryInfo, EntryTry, FailStoreCounts, ListOptions, NewEntry, StoredEntry } from './entry.js';

/** What an entry costs beside its body, roughly: its row, its indexes. */
const overheadBytes = 300;
/** How many earlier process starts are remembered. */
const maxIncarnations = 64;
const maxErrorChars = 1_024;

const infoColumns = 'seq, id, kind, key, incarnation, stored_at AS storedAt, dead, tries, last_error AS lastError, origin';

type Row = Omit<StoredEntry, 'dead'> & { dead: number };

/** What the file needs beside its folder. */
export interface FailStoreFileOptions {
  incarnation: string;
  maxBytes: number;
  log: Logger;
  clock: Clock;
}

/** The statements of a FailStore, on a folder whose owner lock the caller holds. */
export class FailStoreFile {
  readonly folder: string;
  readonly #options: FailStoreFileOptions;
  readonly #statements = new Map<string, Database.Statement>();
  #database: Database.Database;
  #predecessors: string[] = [];
  #counts: FailStoreCounts = { entries: 0, dead: 0, bytes: 0 };

  constructor(folder: string, options: FailStoreFileOptions) {
    this.folder = folder;
    this.#options = options;
    this.#database = openEntries(folder, options.incarnation, options.log);
    this.#run(() => this.#load());
  }

  get predecessors(): readonly string[] {
    return this.#predecessors;
  }

  get counts(): Readonly<FailStoreCounts> {
    return this.#counts;
  }

  put(entries: readonly NewEntry[]): void {
    const { incarnation, clock } = this.#options;
    const storedAt = clock.now();
    this.putAs(entries.map((entry) => ({ ...entry, incarnation, storedAt, dead: false, tries: 0, lastError: '', origin: '' })));
  }

  /** Like put, for entries that another incarnation has stored. */
  putAs(entries: readonly Omit<StoredEntry, 'seq'>[]): void {
    const added = entries.reduce((sum, entry) => sum + entry.body.length + overheadBytes, 0);
    const { maxBytes } = this.#options;
    if (this.#counts.bytes + added > maxBytes) {
      throw new LtsError('FAIL_STORE_FULL', `the FailStore ${this.folder} holds ${this.#counts.bytes} of ${maxBytes} bytes; bring a tracker back or raise its size`);
    }
    this.#change((counts) => {
      const insert = this.#prepare(`INSERT INTO entries (id, kind, key, body, incarnation, stored_at, dead, tries, last_error, origin)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`);
      for (const { id, kind, key, body, incarnation, storedAt, dead, tries, lastError, origin } of entries) {
        const add = (): boolean => insert.run(id, kind, key, body, incarnation, storedAt, dead ? 1 : 0, tries, lastError, origin).changes === 1;
        if (!add() && (dead || !this.#forget(counts, id, true) || !add())) continue;
        counts.entries++;
        counts.dead += dead ? 1 : 0;
        counts.bytes += body.length + overheadBytes;
      }
    });
  }

  /** How many of the first entries there is room for. */
  countFitting(entries: readonly { body: Buffer }[]): number {
    let bytes = this.#counts.bytes;
    const tooMany = entries.findIndex(({ body }) => (bytes += body.length + overheadBytes) > this.#options.maxBytes);
    return tooMany < 0 ? entries.length : tooMany;
  }

  /** Place of the newest entry; 0 when there never was one. */
  get lastSeq(): number {
    return this.#run(() => this.#prepare("SELECT coalesce(max(seq), 0) FROM entries").pluck().get() as number);
  }

  pending(afterSeq: number, limit: number, maxBytes = 4 * 1024 * 1024): StoredEntry[] {
    return this.#run(() => {
      const rows = this.#prepare(`SELECT ${infoColumns}, body FROM entries WHERE seq > ? AND dead = 0 ORDER BY seq LIMIT ?`).iterate(afterSeq, limit) as IterableIterator<Row>;
      const entries: StoredEntry[] = [];
      let bytes = 0;
      for (const row of rows) {
        bytes += row.body.length;
        if (entries.length > 0 && bytes > maxBytes) break;
        entries.push({ ...row, dead: false });
      }
      return entries;
    });
  }

  get(id: string): StoredEntry | undefined {
    return this.#run(() => {
      const row = this.#prepare(`SELECT ${infoColumns}, body FROM entries WHERE id = ?`).get(id) as Row | undefined;
      return row === undefined ? undefined : { ...row, dead: row.dead === 1 };
    });
  }

  remove(ids: readonly string[]): void {
    this.#change((counts) => {
      for (const id of ids) this.#forget(counts, id, false);
    });
  }

  noteTry(id: string, error: string, dead: boolean): void {
    this.noteTries([{ id, error, dead }]);
  }

  noteTries(tries: readonly EntryTry[]): void {
    this.#change((counts) => {
      const note = this.#prepare('UPDATE entries SET tries = tries + 1, last_error = ? WHERE id = ?');
      const bury = this.#prepare('UPDATE entries SET dead = 1 WHERE id = ? AND dead = 0');
      for (const { id, error, dead } of tries) {
        note.run(error.slice(0, maxErrorChars), id);
        if (dead) counts.dead += bury.run(id).changes;
      }
    });
  }

  list({ deadOnly = false, limit }: ListOptions): EntryInfo[] {
    return this.#run(() => {
      const select = (dead: 0 | 1, most: number): EntryInfo[] => {
        const rows = this.#prepare(`SELECT ${infoColumns} FROM entries WHERE dead = ${dead} ORDER BY seq LIMIT ?`).all(most) as Row[];
        return rows.map((row) => ({ ...row, dead: dead === 1 }));
      };
      const dead = select(1, limit);
      return deadOnly ? dead : [...dead, ...select(0, limit - dead.length)];
    });
  }

  revive(ids: readonly string[] | 'all'): number {
    return this.#change((counts) => {
      const set = 'UPDATE entries SET dead = 0, tries = 0 WHERE dead = 1';
      const one = this.#prepare(`${set} AND id = ?`);
      const revived = ids === 'all' ? this.#prepare(set).run().changes : ids.reduce((sum, id) => sum + one.run(id).changes, 0);
      counts.dead -= revived;
      return revived;
    });
  }

  hasKey(key: string): boolean {
    if (this.#counts.entries === this.#counts.dead) return false;
    return this.#run(() => this.#prepare('SELECT 1 FROM entries WHERE key = ? AND dead = 0 LIMIT 1').get(key) !== undefined);
  }

  /** Adds process starts that have ended, from a folder that is emptied into this one. */
  notePredecessors(incarnations: readonly string[]): void {
    this.#change(() => this.#remember(incarnations));
    this.#predecessors = this.#readPredecessors();
  }

  closeFile(): void {
    if (this.#database.open) this.#database.close();
  }

  #load(): void {
    this.#predecessors = this.#readPredecessors();
    this.#database.transaction(() => this.#remember([this.#options.incarnation])).immediate();
    this.#counts = this.#count();
  }

  #readPredecessors(): string[] {
    return this.#prepare('SELECT incarnation FROM incarnations WHERE incarnation <> ? ORDER BY number').pluck().all(this.#options.incarnation) as string[];
  }

  #remember(incarnations: readonly string[]): void {
    const insert = this.#prepare('INSERT INTO incarnations SELECT ?, coalesce(max(number), 0) + 1 FROM incarnations WHERE true ON CONFLICT DO NOTHING');
    for (const incarnation of incarnations) insert.run(incarnation);
    this.#prepare('DELETE FROM incarnations WHERE number <= (SELECT max(number) FROM incarnations) - ?').run(maxIncarnations);
  }

  #forget(counts: FailStoreCounts, id: string, onlyDead: boolean): boolean {
    const row = this.#prepare(`DELETE FROM entries WHERE id = ? AND dead >= ? RETURNING dead, length(body) AS size`).get(id, onlyDead ? 1 : 0) as
      | { dead: number; size: number }
      | undefined;
    if (row === undefined) return false;
    counts.entries--;
    counts.dead -= row.dead;
    counts.bytes -= row.size + overheadBytes;
    return true;
  }

  #count(): FailStoreCounts {
    const sql = `SELECT count(*) AS entries, coalesce(sum(dead), 0) AS dead, coalesce(sum(length(body) + ${overheadBytes}), 0) AS bytes FROM entries`;
    return this.#prepare(sql).get() as FailStoreCounts;
  }

  /** One durable transaction; the counts change with it or not at all. */
  #change<T>(work: (counts: FailStoreCounts) => T): T {
    return this.#run(() => {
      const counts = { ...this.#counts };
      const result = this.#database.transaction(() => work(counts)).immediate();
      this.#counts = counts;
      return result;
    });
  }

  /** A file that turns out to be damaged is set aside and the work done on a fresh one. */
  #run<T>(work: () => T): T {
    const path = join(this.folder, 'entries.db');
    try {
      return work();
    } catch (error) {
      if (!isDamage(error)) throw toStoreError(error, path);
      this.#database.close();
      this.#statements.clear();
      setAside(path, this.#options.incarnation, error, this.#options.log);
      this.#database = openEntries(this.folder, this.#options.incarnation, this.#options.log);
    }
    try {
      this.#load();
      return work();
    } catch (error) {
      throw toStoreError(error, path);
    }
  }

  #prepare(sql: string): Database.Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}
