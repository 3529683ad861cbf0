import pg from 'pg';
import { epochOf, record } from '../checker/history.js';

/** By this name its own connection is left alone by faults. */
export const observerName = 'chaos-observer';
const slot = 'chaos';
const changesAtOnce = 20_000;
const withinMs = 15_000;

/**
 * Reads from PostgreSQL's write-ahead log, in the order of the commits, who took each partition and under which epoch
 * attempts began. PostgreSQL must run with `wal_level=logical`.
 */
export class CommitOrder {
  readonly #url: string;
  readonly #epochs = new Map<number, number[]>();
  /** Token of the newest attempt of each live instance: an update that leaves it begins no attempt. */
  readonly #fences = new Map<string, number>();
  /** Position in the log up to which it was read: after a crash of the server some of it comes again. */
  #read = 0n;
  /** Attempts whose beginning was seen. */
  begun = 0;

  constructor(url: string) {
    this.#url = url;
  }

  /** From now on the log is kept until it is read. */
  async start(): Promise<void> {
    await this.#ask("SELECT pg_create_logical_replication_slot($1, 'test_decoding')", [slot]);
  }

  /** Reads what is new. Rejects while PostgreSQL is away: nothing is lost then, for it is let go of only when it was read. */
  async read(): Promise<void> {
    for (let count = changesAtOnce; count >= changesAtOnce; ) {
      const rows = await this.#ask("SELECT lsn, data FROM pg_logical_slot_peek_changes($1, NULL, $2, 'include-xids', '0', 'skip-empty-xacts', '1')", [slot, changesAtOnce]);
      count = rows.length;
      const upTo = this.#takeAll(rows);
      if (upTo !== undefined) await this.#ask('SELECT pg_replication_slot_advance($1, $2::pg_lsn)', [slot, upTo]);
    }
  }

  /** Whole transactions, in the order of their commits: the changes of one lie before commits of others. Gives where the last one ends. */
  #takeAll(rows: readonly { lsn: string; data: string }[]): string | undefined {
    let changes: string[] = [];
    let upTo: string | undefined;
    for (const { lsn, data } of rows) {
      if (data === 'BEGIN') changes = [];
      else if (data !== 'COMMIT') changes.push(data);
      else {
        if (position(lsn) > this.#read) for (const change of changes) this.#take(change);
        if (position(lsn) > this.#read) this.#read = position(lsn);
        upTo = lsn;
      }
    }
    return upTo;
  }

  /** Records the epochs of each partition. */
  conclude(history: string): void {
    for (const [partition, epochs] of this.#epochs) record(history, 'owners', { kind: 'owners', partition, epochs });
  }

  #take(change: string): void {
    if (change.startsWith('table lts.ownership: UPDATE:')) return this.#seen(field(change, 'part'), field(change, 'epoch'));
    if (change.startsWith('table lts.live: DELETE:')) return void this.#fences.delete(text(change, 'seq') ?? '');
    if (!change.startsWith('table lts.live: ')) return;
    const [seq, fence] = [text(change, 'seq') ?? '', field(change, 'fence')];
    if (Number.isNaN(fence) || this.#fences.get(seq) === fence) return;
    this.#fences.set(seq, fence);
    this.begun++;
    this.#seen(field(change, 'part'), epochOf(fence));
  }

  #seen(partition: number, epoch: number): void {
    const epochs = this.#epochs.get(partition) ?? [];
    this.#epochs.set(partition, epochs);
    if (epochs.at(-1) !== epoch) epochs.push(epoch);
  }

  async #ask(sql: string, values: unknown[]): Promise<{ lsn: string; data: string }[]> {
    const client = new pg.Client({ connectionString: this.#url, application_name: observerName, connectionTimeoutMillis: withinMs, query_timeout: withinMs });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query<{ lsn: string; data: string }>(sql, values)).rows;
    } finally {
      // A server that stands still does not say goodbye.
      client.end().catch(() => undefined);
    }
  }
}

/** `16/B374D848` as a number. */
function position(lsn: string): bigint {
  const [high = '0', low = '0'] = lsn.split('/');
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}

const patterns = new Map(['seq', 'part', 'epoch', 'fence'].map((column) => [column, new RegExp(` ${column}\\[[a-z]+\\]:(\\S+)`)]));

function text(change: string, column: string): string | undefined {
  return patterns.get(column)?.exec(change)?.[1];
}

/** NaN for NULL and for a column that is not there. */
function field(change: string, column: string): number {
  return Number(text(change, column) ?? Number.NaN);
}
