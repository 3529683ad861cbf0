import type { Clock } from '../../../../../shared/time/clock.js';
import type { Connection } from './connection.js';
import { dayMs, daysOf, dropDay, makeDaysSql } from './history-days.js';
import type { RunStatement } from './ordered-calls.js';

/** Instances that one statement deletes. */
const stepInstances = 100;
/** A worker that got no attempt for so long before `before` is in no record any more that is kept. */
const workerGraceMs = 2 * dayMs;
/** Days are made, and a day that could not be dropped is tried again, after so long. */
const daysEveryMs = 10 * 60_000;

const findSql = 'SELECT id FROM lts.ended WHERE id < lts.least_id($1) AND ended_at < $1 ORDER BY id LIMIT $2';

/** What has ended does not change any more: these rows can go one table after the other. */
const deleteSql = `WITH feedback AS (DELETE FROM lts.feedback WHERE id = ANY ($1::uuid[])), log AS (DELETE FROM lts.log WHERE id = ANY ($1::uuid[])),
    attempt AS (DELETE FROM lts.attempt WHERE id = ANY ($1::uuid[])), instance AS (DELETE FROM lts.instance WHERE id = ANY ($1::uuid[])),
    ended AS (DELETE FROM lts.ended WHERE id = ANY ($1::uuid[]) RETURNING 1)
  SELECT count(*) AS gone FROM ended`;

/** Opens a connection for work that takes long, so that the lower lane does not wait for it. */
export type OnConnection = <T>(work: (connection: Connection) => Promise<T>) => Promise<T>;

/**
 * Forgets what ended before a time. Ids tell when they were made: a day of the histories that is over by then goes as a
 * whole; the few instances in it that still live, or ended later, move to the default partitions first. What lies there,
 * and in days with many such instances, is deleted row by row.
 */
export class Purge {
  readonly #low: RunStatement;
  readonly #onConnection: OnConnection;
  readonly #clock: Clock;
  #madeAt = -Infinity;
  /** When days were last tried that could not be dropped. */
  readonly #kept = new Map<number, number>();

  constructor(low: RunStatement, onConnection: OnConnection, clock: Clock) {
    this.#low = low;
    this.#onConnection = onConnection;
    this.#clock = clock;
  }

  /** Tells how many instances went: whole days, or about `limit` rows. */
  async run(before: number, limit: number): Promise<number> {
    if (this.#clock.monotonic() - this.#madeAt > daysEveryMs) await this.#makeDays();
    const dropped = await this.#dropDays(before);
    if (dropped > 0) return dropped;
    const deleted = await this.#deleteRows(before, limit);
    if (deleted > 0 && deleted < limit) await this.#forgetWorkers(before);
    return deleted;
  }

  async #makeDays(): Promise<void> {
    await this.#low(makeDaysSql);
    this.#madeAt = this.#clock.monotonic();
  }

  async #dropDays(before: number): Promise<number> {
    const now = this.#clock.monotonic();
    const days = (await daysOf(this.#low)).filter((day) => day + dayMs <= before && now - (this.#kept.get(day) ?? -Infinity) > daysEveryMs);
    let dropped = 0;
    for (const day of days) {
      const gone = await this.#onConnection((connection) => dropDay(connection, day, before));
      if (gone === undefined) this.#kept.set(day, now);
      else this.#kept.delete(day);
      dropped += gone ?? 0;
    }
    return dropped;
  }

  async #deleteRows(before: number, limit: number): Promise<number> {
    let deleted = 0;
    while (deleted < limit) {
      const step = Math.min(stepInstances, limit - deleted);
      const { rows } = await this.#low<{ id: string }>(findSql, [before, step]);
      if (rows.length === 0) break;
      const gone = await this.#low<{ gone: number }>(deleteSql, [rows.map(({ id }) => id)]);
      deleted += gone.rows[0]?.gone ?? 0;
      if (rows.length < step) break;
    }
    return deleted;
  }

  /** Those with an attempt that runs count as used now, so that their names outlive it by the retention. */
  async #forgetWorkers(before: number): Promise<void> {
    const now = this.#clock.now();
    await this.#low(
      'UPDATE lts.worker SET used_at = $1 WHERE used_at < $1 - $2::bigint AND worker_id = ANY (ARRAY(SELECT worker_id FROM lts.live WHERE state >= 3))',
      [now, dayMs],
    );
    await this.#low('DELETE FROM lts.worker WHERE used_at < $1', [before - workerGraceMs]);
  }
}
