import type { FailStore } from '../../../shared/failstore/fail-store.js';
import type { LogLine } from '../../../shared/grpc/generated/lts/v1/LogLine.js';
import { newId } from '../../../shared/ids.js';
import type { Logger } from '../../../shared/log/logger.js';

/** Lines that are on this disk under one id. */
export interface StoredLines {
  id: string;
  lines: LogLine[];
}

/** Keeps log lines on this disk, in chunks. */
export interface LineStore {
  /** False: there is no room for them. */
  keep(lines: readonly LogLine[]): boolean;
  /** The oldest chunk that was not handed out since the last rewind. */
  next(): StoredLines | undefined;
  /** Hands out all chunks again, from the oldest. */
  rewind(): void;
  forget(ids: readonly string[]): void;
  /** Chunks of other incarnations have come, behind this place in the FailStore. */
  takeStored(afterSeq: number): void;
}

const kind = 'lines';

/** Lines in the FailStore, within a share of its size, so that they never displace results. */
export class FailStoreLines implements LineStore {
  readonly #store: FailStore;
  readonly #log: Logger;
  readonly #maxBytes: number;
  /** Size by id of what this store holds. */
  readonly #sizes = new Map<string, number>();
  #bytes = 0;
  #after = 0;
  /** There is nothing after #after. */
  #exhausted = false;

  constructor(store: FailStore, maxBytes: number, log: Logger) {
    this.#store = store;
    this.#maxBytes = maxBytes;
    this.#log = log;
    this.takeStored(0);
  }

  takeStored(afterSeq: number): void {
    let after = afterSeq;
    for (let page = this.#store.pending(after, 100); page.length > 0; page = this.#store.pending(after, 100)) {
      for (const entry of page) {
        after = entry.seq;
        if (entry.kind === kind) this.#count(entry.id, entry.body.length);
      }
    }
  }

  keep(lines: readonly LogLine[]): boolean {
    const body = Buffer.from(JSON.stringify(lines));
    if (this.#bytes + body.length > this.#maxBytes) return false;
    const id = `${kind}/${newId()}`;
    try {
      this.#store.put([{ id, kind, key: kind, body }]);
    } catch (error) {
      this.#log.error('failstore.failed', { kind, count: lines.length, error });
      return false;
    }
    this.#count(id, body.length);
    this.#log.info('failstore.stored', { kind, count: lines.length });
    return true;
  }

  next(): StoredLines | undefined {
    if (this.#exhausted || this.#sizes.size === 0) return undefined;
    for (;;) {
      const [entry] = this.#store.pending(this.#after, 1);
      if (entry === undefined) {
        this.#exhausted = true;
        return undefined;
      }
      this.#after = entry.seq;
      if (entry.kind !== kind) continue;
      try {
        return { id: entry.id, lines: JSON.parse(entry.body.toString('utf8')) as LogLine[] };
      } catch {
        this.#store.noteTry(entry.id, 'not log lines', true);
      }
    }
  }

  rewind(): void {
    this.#after = 0;
    this.#exhausted = false;
  }

  forget(ids: readonly string[]): void {
    try {
      this.#store.remove(ids);
      for (const id of ids) {
        this.#bytes -= this.#sizes.get(id) ?? 0;
        this.#sizes.delete(id);
      }
    } catch (error) {
      this.#log.error('failstore.failed', { kind, error });
    }
  }

  #count(id: string, bytes: number): void {
    this.#exhausted = false;
    this.#sizes.set(id, bytes);
    this.#bytes += bytes;
  }
}
