import type { FailStore } from '../../../shared/failstore/fail-store.js';
import type { TaskResult } from '../../../shared/grpc/generated/lts/v1/TaskResult.js';
import type { Logger } from '../../../shared/log/logger.js';

/** Keeps results on this disk. */
export interface ResultStore {
  /** Durable when it returns true; false: the disk does not take them now, they stay in memory. */
  keep(results: readonly TaskResult[]): boolean;
  /** A tracker has settled them. */
  forget(results: readonly TaskResult[]): void;
  /** What other incarnations have left, oldest first: what lies behind a place in the FailStore. */
  load(afterSeq: number): TaskResult[];
}

const kind = 'result';
const pageSize = 1_000;

/** Results in the FailStore. Their ids name the incarnation: two processes may have run the same attempt number. */
export class FailStoreResults implements ResultStore {
  readonly #store: FailStore;
  readonly #log: Logger;

  constructor(store: FailStore, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  keep(results: readonly TaskResult[]): boolean {
    try {
      this.#store.put(results.map((result) => ({ id: idOf(result), kind, key: result.instance_id ?? '', body: Buffer.from(JSON.stringify(result)) })));
      this.#log.info('failstore.stored', { kind, count: results.length });
      return true;
    } catch (error) {
      this.#log.error('failstore.failed', { kind, count: results.length, error });
      return false;
    }
  }

  forget(results: readonly TaskResult[]): void {
    try {
      this.#store.remove(results.map(idOf));
    } catch (error) {
      // They are sent again by the next incarnation, and refused as stale.
      this.#log.error('failstore.failed', { kind, count: results.length, error });
    }
  }

  load(afterSeq: number): TaskResult[] {
    const results: TaskResult[] = [];
    const bad: string[] = [];
    let after = afterSeq;
    for (;;) {
      const page = this.#store.pending(after, pageSize);
      for (const entry of page) {
        after = entry.seq;
        if (entry.kind !== kind) continue;
        const result = parseResult(entry.body);
        if (result === undefined) bad.push(entry.id);
        else results.push(result);
      }
      if (page.length === 0) break;
    }
    for (const id of bad) this.#store.noteTry(id, 'not a result', true);
    return results;
  }
}

function idOf(result: TaskResult): string {
  return `${kind}/${result.instance_id}/${result.attempt}/${result.incarnation}`;
}

function parseResult(body: Buffer): TaskResult | undefined {
  try {
    const result = JSON.parse(body.toString('utf8')) as TaskResult;
    return typeof result.instance_id === 'string' && typeof result.attempt === 'number' ? result : undefined;
  } catch {
    return undefined;
  }
}
