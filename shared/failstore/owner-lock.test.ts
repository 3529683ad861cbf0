import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { takeOwnerLock } from './owner-lock.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'owner-lock-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true, force: true });
});

/** Does something between the opening of a lock file and its locking. */
function betweenOpenAndLock(work: () => void): void {
  const spy = vi.spyOn(Database.prototype, 'exec').mockImplementation(function (this: Database.Database, sql: string) {
    spy.mockRestore();
    work();
    return this.exec(sql);
  });
}

it('is held by one at a time', () => {
  const first = takeOwnerLock(dir);
  expect(takeOwnerLock(dir)).toBeUndefined();
  first?.release();
  expect(takeOwnerLock(dir)).toBeDefined();
});

it('is not given on a file that was deleted, with or without another in its place', () => {
  const folder = join(dir, 'gone');
  mkdirSync(folder);
  betweenOpenAndLock(() => rmSync(folder, { recursive: true }));
  expect(takeOwnerLock(folder)).toBeUndefined();

  mkdirSync(folder);
  let young: ReturnType<typeof takeOwnerLock>;
  betweenOpenAndLock(() => {
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    young = takeOwnerLock(folder);
  });
  expect(takeOwnerLock(folder)).toBeUndefined();
  expect(young).toBeDefined();
  young?.release();
  expect(takeOwnerLock(folder)).toBeDefined();
});

it('is not given in a folder that is not there', () => {
  expect(takeOwnerLock(join(dir, 'never'))).toBeUndefined();
});
