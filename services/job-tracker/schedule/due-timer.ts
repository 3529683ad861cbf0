import type { Clock, Timer } from '../../../shared/time/clock.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { CommitPipeline } from '../queue/commit-pipeline.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { PromoteOutcome } from '../queue/queue-store.js';

/** Rows that one commit promotes. */
const promoteAtOnce = 1_000;
/** The clock may jump: it is looked at again at least so often. */
const longestSleepMs = 1_000;
const retryMs = 500;

/**
 * Makes waiting rows ready when their time has come. Memory holds only the next due time per partition; the rows stay
 * in the store. One timer for all; it never sleeps longer than a second, so that a jump of the clock is noticed.
 */
export class DueTimer {
  readonly #groups: OwnedGroups;
  readonly #pipeline: CommitPipeline;
  readonly #dispatcher: Dispatcher;
  readonly #runs: { goes(id: string): void };
  readonly #clock: Clock;
  readonly #promoting = new Set<number>();
  #timer: Timer | undefined;
  /** Monotonic. */
  #firesAt = Number.POSITIVE_INFINITY;

  /** @param runs is told what does not wait any more */
  constructor(groups: OwnedGroups, pipeline: CommitPipeline, dispatcher: Dispatcher, runs: { goes(id: string): void }, clock: Clock) {
    this.#groups = groups;
    this.#pipeline = pipeline;
    this.#dispatcher = dispatcher;
    this.#runs = runs;
    this.#clock = clock;
  }

  /** A row of the partition waits until then. */
  dueAt(partition: number, at: number): void {
    const owned = this.#groups.partitions.get(partition);
    if (owned === undefined) return;
    owned.nextDueAt = Math.min(owned.nextDueAt ?? Number.POSITIVE_INFINITY, at);
    this.arm();
  }

  /** Whether rows of the partition are being promoted: their next due time is not known meanwhile. */
  promoting(partition: number): boolean {
    return this.#promoting.has(partition);
  }

  /** Looks at all partitions and sleeps until the first is due. */
  arm(): void {
    let next = Number.POSITIVE_INFINITY;
    for (const { partition, nextDueAt } of this.#groups.partitions.values()) {
      if (nextDueAt !== undefined && !this.#promoting.has(partition)) next = Math.min(next, nextDueAt);
    }
    if (next === Number.POSITIVE_INFINITY) return;
    const delayMs = Math.min(Math.max(next - this.#clock.now(), 0), longestSleepMs);
    const firesAt = this.#clock.monotonic() + delayMs;
    if (this.#timer !== undefined && this.#firesAt <= firesAt) return;
    this.#timer?.cancel();
    this.#firesAt = firesAt;
    this.#timer = this.#clock.after(delayMs, () => this.#fire(), { unref: true });
  }

  #fire(): void {
    this.#timer = undefined;
    this.#firesAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    for (const { partition, nextDueAt } of this.#groups.partitions.values()) {
      if (nextDueAt !== undefined && nextDueAt <= now && !this.#promoting.has(partition)) this.#promote(partition, now);
    }
    this.arm();
  }

  #promote(partition: number, now: number): void {
    this.#promoting.add(partition);
    const before = this.#groups.partitions.get(partition);
    if (before !== undefined) before.nextDueAt = undefined;
    this.#pipeline.add({ kind: 'promote', partition, now, limit: promoteAtOnce }, (outcome, error) => {
      this.#promoting.delete(partition);
      const owned = this.#groups.partitions.get(partition);
      if (owned === undefined) return;
      if (error !== undefined) return this.dueAt(partition, now + retryMs);
      const { ready, nextDueAt } = outcome as PromoteOutcome;
      const touched = new Set(ready.map((row) => row.nodeGroup));
      for (const row of ready) {
        const group = this.#groups.group(row.nodeGroup, partition);
        group.waiting--;
        group.readyCount++;
        this.#dispatcher.place(group, row);
        this.#runs.goes(row.id);
      }
      for (const name of touched) this.#dispatcher.dispatch(this.#groups.group(name, partition));
      if (nextDueAt !== undefined) this.dueAt(partition, nextDueAt);
      else this.arm();
    });
  }
}
