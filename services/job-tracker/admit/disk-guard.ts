import { formatSize } from '../../../shared/config/kinds.js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { StoreHealth } from '../queue/queue-store.js';

/**
 * Refuses new jobs before the disk of the store is full, so that what was taken in can still run and end. A full disk
 * also stops deletes, which is too late.
 */
export class DiskGuard {
  readonly #reserveBytes: number;
  readonly #log: Logger;
  #lowBytes: number | undefined;

  constructor(reserveBytes: number, log: Logger) {
    this.#reserveBytes = reserveBytes;
    this.#log = log;
  }

  /** Takes the newest figure. */
  note({ freeBytes }: StoreHealth): void {
    const low = freeBytes !== undefined && freeBytes < this.#reserveBytes;
    if (low !== (this.#lowBytes !== undefined)) this.#log.warn(low ? 'store.disk_low' : 'store.disk_ok', { freeBytes, reserveBytes: this.#reserveBytes });
    this.#lowBytes = low ? freeBytes : undefined;
  }

  /** Throws DISK_LOW. */
  requireRoom(): void {
    if (this.#lowBytes === undefined) return;
    throw new LtsError('DISK_LOW', `${formatSize(this.#lowBytes)} are free where the store lies, ${formatSize(this.#reserveBytes)} are kept back; free disk space, or lower --disk-reserve`);
  }
}
