import type pg from 'pg';
import { formatDuration } from '../../../../../shared/time/duration.js';
import type { Clock } from '../../../../../shared/time/clock.js';
import { ClockEstimate } from '../../../../../shared/time/clock-estimate.js';
import type { StoreHealth, StoreWarning } from '../../queue-store.js';
import { acksNotDurable } from './durability.js';
import type { Lanes } from './lanes.js';
import { PgFailure } from './pg-errors.js';
import { acksNotReplicated } from './replication.js';

/** When warnings come. */
export interface WarningLimits {
  /** A transaction of another session that is older keeps vacuum from cleaning the queues. Milliseconds. */
  longSnapshotMs: number;
  /** What hosts write and what jobs are due by are further apart then. Milliseconds. */
  clockOffsetMs: number;
}

export const warningLimits: WarningLimits = { longSnapshotMs: 60_000, clockOffsetMs: 5_000 };

const readWithinMs = 2_000;
/** Warnings are looked for so often. */
const warningsEveryMs = 5_000;

/** What the server says of itself. Costs one small read each time, and a look at its sessions every few seconds. */
export class ServerHealth {
  readonly #lanes: Lanes;
  readonly #clock: Clock;
  readonly #limits: WarningLimits;
  readonly #demanded: boolean;
  readonly #serverClock = new ClockEstimate();
  #warnings: StoreWarning[] = [];
  #warnedAt = -Infinity;

  constructor(lanes: Lanes, clock: Clock, requireSyncReplica: boolean, limits = warningLimits) {
    this.#lanes = lanes;
    this.#clock = clock;
    this.#demanded = requireSyncReplica;
    this.#limits = limits;
  }

  /** Never rejects. AWAY: the server cannot be reached, or takes no writes; it is tried until it does. */
  async read(): Promise<StoreHealth> {
    let away = this.#lanes.away;
    if (away === undefined) {
      try {
        // The first one may have had to connect.
        if (this.#serverClock.against(this.#clock) === undefined) await this.#measure();
        await this.#measure();
        if (this.#clock.monotonic() - this.#warnedAt >= warningsEveryMs) await this.#look();
      } catch (error) {
        if (!(error instanceof PgFailure)) throw error;
        away = error;
      }
    }
    const known = { freeBytes: undefined, clockOffsetMs: this.#serverClock.against(this.#clock) ?? 0 };
    if (away !== undefined) return { state: 'AWAY', message: away.message, ...known, warnings: [] };
    return { state: 'OK', message: '', ...known, warnings: [...this.#clockWarning(), ...this.#warnings] };
  }

  async #measure(): Promise<void> {
    const sent = this.#clock.monotonic();
    const { rows } = await this.#lanes.read<{ now: number }>('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now', undefined, readWithinMs);
    this.#serverClock.heard(rows[0]?.now ?? 0, sent, this.#clock.monotonic());
  }

  async #look(): Promise<void> {
    const warnings: StoreWarning[] = [];
    const query = <R extends pg.QueryResultRow>(text: string): Promise<pg.QueryResult<R>> => this.#lanes.read<R>(text, undefined, readWithinMs);
    const losable = await acksNotDurable(query);
    if (losable !== undefined) warnings.push({ reason: 'ACKS_NOT_DURABLE', message: losable });
    const unsafe = await acksNotReplicated(query, this.#demanded);
    if (unsafe !== undefined) warnings.push({ reason: 'ACKS_NOT_REPLICATED', message: unsafe });
    const { rows } = await this.#lanes.read<{ pid: number; name: string; age: number }>(
      `SELECT pid, application_name AS name, (extract(epoch FROM clock_timestamp() - xact_start) * 1000)::bigint AS age FROM pg_stat_activity
       WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL
         AND xact_start < clock_timestamp() - $1 * interval '1 ms' ORDER BY xact_start LIMIT 3`,
      [this.#limits.longSnapshotMs],
      readWithinMs,
    );
    for (const { pid, name, age } of rows) {
      const message = `session ${pid} (${name === '' ? 'no application_name' : name}) has held a snapshot for ${formatDuration(Math.round(age / 1000) * 1000)}: vacuum cannot clean the queues, which get slow; end it, or SELECT pg_terminate_backend(${pid})`;
      warnings.push({ reason: 'LONG_SNAPSHOT', message });
    }
    this.#warnings = warnings;
    this.#warnedAt = this.#clock.monotonic();
  }

  #clockWarning(): StoreWarning[] {
    const ms = this.#serverClock.against(this.#clock) ?? 0;
    if (Math.abs(ms) <= this.#limits.clockOffsetMs) return [];
    return [{ reason: 'CLOCK_OFFSET', message: `the clock of the database's host is ${Math.abs(ms)} ms ${ms > 0 ? 'ahead of' : 'behind'} this host's; set both by NTP` }];
  }
}
