import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../test/kit/eventually.js';
import { newId } from '../ids.js';
import { type Logger, silentLogger } from '../log/logger.js';
import type { StoredEntry } from './entry.js';
import { type FailStore, openFailStore } from './fail-store.js';
import type { StoreScope } from './folder-identity.js';

const scope: StoreScope = { kind: 'job-client', cluster: 'c', nodeGroup: '', endpoints: ['127.0.0.1:7401'] };

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

interface OpenOptions {
  scope?: StoreScope;
  maxBytes?: number;
  log?: Logger;
}

function open(nodeId: string, options: OpenOptions = {}): FailStore {
  const store = openFailStore({ dir, nodeId, incarnation: newId(), maxBytes: 10_000_000, scope, log: silentLogger, ...options });
  stores.push(store);
  return store;
}

/** A logger that keeps what is told. */
function told(): { log: Logger; lines: [string, Record<string, unknown>][] } {
  const lines: [string, Record<string, unknown>][] = [];
  const note = (event: string, fields: object = {}): void => void lines.push([event, fields as Record<string, unknown>]);
  return { lines, log: { ...silentLogger, info: note, warn: note, error: note } };
}

function put(store: FailStore, ...ids: string[]): void {
  store.put(ids.map((id) => ({ id, kind: 'SUBMIT', key: `key of ${id}`, body: Buffer.from(`body of ${id}`) })));
}

function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
}

function all(store: FailStore): StoredEntry[] {
  return store.pending(0, 100_000, 1e9);
}

function ids(store: FailStore): string[] {
  return all(store).map(({ id }) => id);
}

/** Takes over all that there is now; gives the number of entries. */
function takeOver(store: FailStore): number {
  for (let moved = 0; ; ) {
    const step = store.takeOver();
    moved += step.moved;
    if (!step.more) return moved;
  }
}

/** A process of its own with a store; `body` is its script, `acked(id)` tells what it was promised. */
class Owner {
  readonly child: ChildProcess;
  output = '';

  constructor(nodeId: string, body: string) {
    const module = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
    const script = `
      import { existsSync, writeSync } from 'node:fs';
      import { openFailStore } from ${module('./fail-store.js')};
      import { silentLogger } from ${module('../log/logger.js')};
      import { newId } from ${module('../ids.js')};
      const dir = ${JSON.stringify(dir)};
      const open = () => openFailStore({ dir, nodeId: ${JSON.stringify(nodeId)}, incarnation: newId(), maxBytes: 1e8, scope: ${JSON.stringify(scope)}, log: silentLogger });
      const say = (text) => writeSync(1, text + '\\n');
      const put = (store, id) => { store.put([{ id, kind: 'SUBMIT', key: id, body: Buffer.from('of ' + id) }]); say('acked ' + id); };
      ${body}
      setInterval(() => undefined, 1000);
    `;
    this.child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.child.stdout?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    children.push(this.child);
  }

  get acked(): string[] {
    return [...this.output.matchAll(/^acked (\S+)$/gm)].map(([, id]) => id ?? '');
  }

  async says(text: string): Promise<void> {
    await eventually(() => this.output.includes(text), { what: `${text} of ${this.child.spawnargs.length} in ${this.output.slice(-200)}` });
  }

  async kill(): Promise<void> {
    const gone = new Promise<void>((resolve) => this.child.once('exit', () => resolve()));
    this.child.kill('SIGKILL');
    await gone;
  }
}

describe('a dead neighbour', () => {
  it('is drained with its ids, its order and its name; its folder goes', () => {
    const { log, lines } = told();
    const dead = open('dead');
    put(dead, ...numbered('a', 450));
    dead.noteTry('a-7', 'refused', true);
    dead.close();
    const store = open('alive', { log });
    expect(store.counts.entries).toBe(0);
    expect(store.takeOver()).toMatchObject({ moved: 200, more: true });
    expect(takeOver(store)).toBe(250);
    expect(ids(store)).toEqual(numbered('a', 450).filter((id) => id !== 'a-7'));
    expect(all(store)[3]).toMatchObject({ id: 'a-3', kind: 'SUBMIT', key: 'key of a-3', origin: 'dead', body: Buffer.from('body of a-3') });
    expect(store.list({ deadOnly: true, limit: 10 })).toMatchObject([{ id: 'a-7', dead: true, lastError: 'refused', origin: 'dead' }]);
    expect(existsSync(dead.folder)).toBe(false);
    expect(lines).toEqual([['failstore.taken_over', { folder: dead.folder, from: 'dead', entries: 450, left: 0 }]]);
    store.close();
    const next = open('third');
    takeOver(next);
    expect(all(next)[0]).toMatchObject({ id: 'a-0', origin: 'dead' });
  });

  it('whose process is killed at any moment loses nothing that it acked', async () => {
    const store = open('alive');
    const acked: string[] = [];
    for (let round = 0; round < 4; round++) {
      const owner = new Owner('dead', `const store = open(); for (let i = 0; ; i++) put(store, 'r${round}-' + i);`);
      await eventually(() => owner.acked.length > round * 40);
      await owner.kill();
      acked.push(...owner.acked);
      takeOver(store);
    }
    // One may be stored whose ack was never said.
    expect(ids(store)).toEqual(expect.arrayContaining(acked));
    expect(store.counts.entries - acked.length).toBeLessThanOrEqual(4);
    expect(readdirSync(dir)).toEqual(['alive']);
  });

  it('that is only paused is not robbed, also while a take-over goes round', async () => {
    const owner = new Owner('paused', `const store = open(); put(store, 'before'); process.on('SIGUSR2', () => put(store, 'after'));`);
    await owner.says('acked before');
    owner.child.kill('SIGSTOP');
    const store = open('alive');
    expect(takeOver(store)).toBe(0);
    owner.child.kill('SIGCONT');
    expect(takeOver(store)).toBe(0);
    owner.child.kill('SIGUSR2');
    await owner.says('acked after');
    expect(store.counts.entries).toBe(0);
    await owner.kill();
    expect(takeOver(store)).toBe(2);
    expect(ids(store)).toEqual(['before', 'after']);
  });

  it('is drained by one of two takers', async () => {
    const dead = open('dead');
    put(dead, ...numbered('a', 3_000));
    // Two that ask for the lock at the same moment may both be refused; then they ask again.
    const takers = ['left', 'right'].map((name) => new Owner(name, `const store = open(); say('ready'); process.on('SIGUSR2', () => { let n = 0; for (;;) { const s = store.takeOver(); n += s.moved; if (!s.more && !existsSync(dir + '/dead/entries.db')) break; } say('took ' + n); });`));
    await Promise.all(takers.map((taker) => taker.says('ready')));
    dead.close();
    for (const { child } of takers) child.kill('SIGUSR2');
    await Promise.all(takers.map((taker) => taker.says('took')));
    const took = takers.map(({ output }) => Number(/took (\d+)/.exec(output)?.[1]));
    expect(took.toSorted((a, b) => a - b)).toEqual([0, 3_000]);
    for (const taker of takers) await taker.kill();
    const store = open('heir');
    expect(takeOver(store)).toBe(3_000);
    expect(ids(store)).toEqual(numbered('a', 3_000));
  });

  it('is drained to the end when takers are killed in the middle: nothing lost, nothing doubled', async () => {
    const dead = open('dead');
    put(dead, ...numbered('a', 2_000));
    dead.close();
    for (let round = 0; round < 5; round++) {
      const taker = new Owner(`taker-${round}`, `const store = open(); say('ready'); setTimeout(() => { for (let n = 0; n < 1000; n++) { const { moved } = store.takeOver(); if (moved > 0) say('step'); } });`);
      await taker.says('step');
      await taker.kill();
    }
    const store = open('heir');
    takeOver(store);
    expect(ids(store).toSorted()).toEqual(numbered('a', 2_000).toSorted());
    expect(readdirSync(dir)).toEqual(['heir']);
  });

  it('that comes back in the middle begins another folder, and loses nothing', async () => {
    const dead = open('node');
    put(dead, ...numbered('old', 1_000));
    dead.close();
    const store = open('alive');
    expect(store.takeOver()).toMatchObject({ moved: 200, more: true });
    const back = new Owner('node', `const store = open(); say('in ' + store.folder); put(store, 'new');`);
    await back.says('acked new');
    expect(back.output).toMatch(/in .*node-[0-9a-f-]{36}\n/);
    expect(takeOver(store)).toBe(800);
    expect(ids(store)).toEqual(numbered('old', 1_000));
    await back.kill();
    expect(takeOver(store)).toBe(1);
    expect(ids(store)).toEqual([...numbered('old', 1_000), 'new']);
  });

  it('and a taker that race for the folder at every moment lose nothing', async () => {
    const owner = new Owner('node', `
      for (let i = 0; i < 150; i++) { const store = open(); put(store, 'e-' + i); store.close(); await new Promise((next) => setTimeout(next, i % 3)); }
      say('all put');
    `);
    const store = open('alive');
    await eventually(() => {
      for (let i = 0; i < 50; i++) store.takeOver();
      return owner.output.includes('all put');
    }, { everyMs: 1, withinMs: 20_000 });
    takeOver(store);
    expect(ids(store).toSorted()).toEqual(numbered('e', 150).toSorted());
  });
});

describe('what is not taken over', () => {
  it.each([
    ['another cluster', { ...scope, cluster: 'other' }],
    ['another cluster of the same name', { ...scope, endpoints: ['127.0.0.1:9999'] }],
    ['another group', { ...scope, nodeGroup: 'g' }],
    ['another kind', { ...scope, kind: 'task-tracker' as const }],
  ])('is the store of %s', (_, other) => {
    const dead = open('dead', { scope: other });
    put(dead, 'a');
    dead.close();
    expect(takeOver(open('alive'))).toBe(0);
    expect(existsSync(join(dead.folder, 'entries.db'))).toBe(true);
    expect(takeOver(open('heir', { scope: other }))).toBe(1);
  });

  it('is a store that does not say whose it is', () => {
    const dead = open('dead');
    put(dead, 'a');
    dead.close();
    const identity = join(dead.folder, 'identity.json');
    const text = readFileSync(identity, 'utf8');
    const store = open('alive');
    for (const bad of ['', '{', '{"kind":"job-client"}', text.replace('"job-client"', '1')]) {
      writeFileSync(identity, bad);
      expect(takeOver(store)).toBe(0);
    }
    writeFileSync(identity, text);
    expect(takeOver(store)).toBe(1);
  });

  it('is the own folder when this node has moved to another cluster', () => {
    const before = open('node');
    put(before, 'a');
    before.close();
    const store = open('node', { scope: { ...scope, cluster: 'other' } });
    expect(store.folder).not.toBe(before.folder);
    expect(takeOver(store)).toBe(0);
    store.close();
    expect(ids(open('node'))).toEqual(['a']);
  });

  it('is what does not fit: it waits for room, and for others', () => {
    const { log, lines } = told();
    const dead = open('dead');
    for (const id of numbered('a', 10)) dead.put([{ id, kind: 'SUBMIT', key: id, body: Buffer.alloc(700) }]);
    dead.close();
    const small = open('small', { maxBytes: 4_500, log });
    expect(takeOver(small)).toBe(4);
    expect(takeOver(small)).toBe(0);
    expect(lines.filter(([event]) => event === 'failstore.failed')).toHaveLength(1);
    small.remove(['a-0']);
    expect(takeOver(small)).toBe(1);
    expect(small.counts.bytes).toBeLessThanOrEqual(4_500);
    const large = open('large');
    expect(takeOver(large)).toBe(5);
    expect([...ids(small), ...ids(large)]).toEqual(numbered('a', 10).slice(1));
  });

  it('is a damaged store: it is set aside, told, and not looked at again', () => {
    const { log, lines } = told();
    const dead = open('dead');
    put(dead, 'a');
    dead.close();
    writeFileSync(join(dead.folder, 'entries.db'), 'no database at all, but long enough to be read as a header'.repeat(20));
    const other = open('other');
    put(other, 'b');
    other.close();
    const store = open('alive', { log });
    expect(takeOver(store)).toBe(1);
    expect(takeOver(store)).toBe(0);
    expect(readdirSync(dead.folder)).toEqual([expect.stringMatching(/^entries\.db\.damaged-/)]);
    expect(lines.map(([event]) => event)).toEqual(['failstore.failed', 'failstore.taken_over']);
  });

  it('is a store of a newer version: it is told once and left as it is', () => {
    const { log, lines } = told();
    const dead = open('dead');
    put(dead, 'a');
    dead.close();
    const database = new Database(join(dead.folder, 'entries.db'));
    database.pragma('user_version = 99');
    const store = open('alive', { log });
    expect(takeOver(store) + takeOver(store)).toBe(0);
    expect(lines).toMatchObject([['failstore.failed', { folder: dead.folder, reason: 'STORE_NEWER' }]]);
    database.pragma('user_version = 1');
    database.close();
    expect(takeOver(store)).toBe(1);
  });

  it('is anything else that lies beside it', () => {
    mkdirSync(join(dir, 'empty'));
    writeFileSync(join(dir, 'file'), '');
    expect(takeOver(open('alive'))).toBe(0);
    expect(readdirSync(dir).toSorted()).toEqual(['alive', 'empty', 'file']);
  });
});

it('a file of the first version is read, and gets what it lacks', () => {
  const first = open('node');
  put(first, 'a');
  const { folder } = first;
  first.close();
  const database = new Database(join(folder, 'entries.db'));
  database.exec('ALTER TABLE entries DROP COLUMN origin');
  database.close();
  expect(all(open('node'))).toMatchObject([{ id: 'a', origin: '' }]);
});
