import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import type fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { newId } from '../ids.js';
import { silentLogger } from '../log/logger.js';
import { type FailStore, openFailStore } from './fail-store.js';
import type { StoreScope } from './folder-identity.js';

/** A network file system cannot be had here: folders whose name says so are told to lie on one. */
vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  return { ...real, statfsSync: (path: string) => (path.includes('far') ? Object.assign(real.statfsSync(path), { type: 0x6969 }) : real.statfsSync(path)) };
});

const scope: StoreScope = { kind: 'job-client', cluster: 'c', nodeGroup: '', endpoints: ['e'] };
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'local-disk-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function open(place: string, nodeId: string): FailStore {
  return openFailStore({ dir: place, nodeId, incarnation: newId(), maxBytes: 1_000_000, scope, log: silentLogger });
}

it('no store is opened on a network file system', () => {
  expect(() => open(join(dir, 'far'), 'node')).toThrow(/NFS/);
});

it('a neighbour on a network file system is left alone', () => {
  const store = open(dir, 'alive');
  for (const nodeId of ['near', 'mounted']) {
    const dead = open(dir, nodeId);
    dead.put([{ id: nodeId, kind: 'SUBMIT', key: nodeId, body: Buffer.alloc(1) }]);
    dead.close();
  }
  renameSync(join(dir, 'mounted'), join(dir, 'mounted-from-far'));
  expect(store.takeOver()).toMatchObject({ moved: 1, more: false });
  expect(store.pending(0, 10).map(({ id }) => id)).toEqual(['near']);
  renameSync(join(dir, 'mounted-from-far'), join(dir, 'mounted'));
  expect(store.takeOver()).toMatchObject({ moved: 1 });
  store.close();
});
