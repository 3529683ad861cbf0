import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machineNow } from './machine-clock.js';
import { median } from './statistics.js';

const magicOfTmpfs = 0x01021994;
const writes = 50;

/** A folder for stores that is on a disk: durability costs nothing in memory, and nothing would be measured. */
export function storeParent(): string {
  const usual = tmpdir();
  return statfsSync(usual).type === magicOfTmpfs ? '/var/tmp' : usual;
}

/** Median time of one small write with fdatasync in this folder, in milliseconds: the floor under every durable commit. */
export function measureFdatasync(parent: string): number {
  const folder = mkdtempSync(join(parent, 'fdatasync-'));
  try {
    const file = openSync(join(folder, 'probe'), 'w');
    const durations = Array.from({ length: writes }, () => {
      const from = machineNow();
      writeSync(file, 'x'.repeat(512));
      fdatasyncSync(file);
      return machineNow() - from;
    });
    closeSync(file);
    return median(durations);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
