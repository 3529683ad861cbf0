import type { Timer } from '../../../time/clock.js';
import type { Connection } from './connection.js';
import type { Part, PartContext } from './part.js';
import { codeOf } from './zk-error.js';

/** Pause between two sweeps in milliseconds. */
const everyMs = 60_000;
/** Nodes of one folder whose owner is asked for in one sweep; the next one goes on behind them. */
const mostAsked = 100;

/** What a sweep looks at. */
export interface SweepOptions {
  /** Folders in which this process has made nodes of its session. */
  folders(): Iterable<string>;
  /** Whether the node belongs to something that is still kept. */
  isClaimed(path: string): boolean;
}

/**
 * Removes ephemeral nodes of this very session that belong to nothing any more: a create whose answer was lost can be
 * carried out after its place was given up, and would stay for as long as the session lives, leading an election
 * perhaps. Nodes of other sessions and persistent ones are never touched.
 */
export class OrphanSweep implements Part {
  readonly #context: PartContext;
  readonly #options: SweepOptions;
  /** By folder, the last name that was asked for. */
  readonly #cursors = new Map<string, string>();
  #connection: Connection | undefined;
  #timer: Timer | undefined;

  constructor(context: PartContext, options: SweepOptions) {
    this.#context = context;
    this.#options = options;
  }

  attach(connection: Connection | undefined): void {
    this.#connection = connection;
    if (connection === undefined) this.stop();
    else this.#timer ??= this.#next();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #next(): Timer {
    return this.#context.clock.after(everyMs, () => void this.#sweep(), { unref: true });
  }

  async #sweep(): Promise<void> {
    const connection = this.#connection;
    try {
      if (connection !== undefined) for (const folder of this.#options.folders()) await this.#sweepFolder(connection, folder);
    } catch (error) {
      if (connection?.open) this.#context.log.warn('registry.failed', { what: 'sweep', error });
    }
    if (this.#timer !== undefined) this.#timer = this.#next();
  }

  async #sweepFolder(connection: Connection, folder: string): Promise<void> {
    const names = (await connection.children(folder)).toSorted();
    const behind = names.filter((name) => name > (this.#cursors.get(folder) ?? ''));
    const asked = behind.slice(0, mostAsked);
    this.#cursors.set(folder, asked.length < behind.length ? (asked.at(-1) ?? '') : '');
    for (const name of asked) {
      const path = `${folder}/${name}`;
      if (this.#options.isClaimed(path)) continue;
      const stat = await connection.exists(path);
      if (stat === null || stat.owner !== connection.sessionId || this.#options.isClaimed(path)) continue;
      await connection.remove(path).catch((error: unknown) => {
        if (codeOf(error) !== 'NO_NODE') throw error;
      });
      this.#context.onOrphan(path);
    }
  }
}
