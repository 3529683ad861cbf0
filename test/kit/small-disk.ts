import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const mib = 1024 * 1024;

/** A disk of its own that can be filled. Needs root on Linux. */
export class SmallDisk {
  readonly folder = mkdtempSync(join(tmpdir(), 'lts-small-disk-'));

  constructor(sizeMib: number) {
    const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMib}m`, 'lts-small-disk', this.folder], { encoding: 'utf8' });
    if (status === 0) return;
    rmSync(this.folder, { recursive: true });
    throw new Error(`a small disk cannot be mounted; run as root on Linux: ${stderr}`);
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.folder);
    return bavail * bsize;
  }

  /** Takes space until so much is left. */
  fill(leftBytes: number): void {
    for (let bytes = this.freeBytes - leftBytes; bytes > 0; bytes = this.freeBytes - leftBytes) {
      try {
        appendFileSync(join(this.folder, 'ballast'), Buffer.alloc(Math.min(bytes, mib)));
      } catch {
        // Somebody else was faster: it is as full as it gets.
        return;
      }
    }
  }

  free(): void {
    writeFileSync(join(this.folder, 'ballast'), '');
  }

  close(): void {
    // Lazily: a process that was just killed may not be gone yet.
    spawnSync('umount', ['-l', this.folder]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
