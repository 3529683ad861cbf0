import type { ScheduleKey, ScheduleRow } from '../queue/queue-store.js';
import { type FiringRow, isFiring, type UpcomingFire } from './fire-window.js';
import { taskName } from './guarded-runs.js';

/** A walk through what the store has of them. */
interface Round {
  readonly until: number;
  after: ScheduleKey | undefined;
  /** Schedules (`sched`) that had their turn in it: they wait for the next round. */
  readonly seen: Set<number>;
  /** While a page is on its way: what has changed since. */
  touched: Set<string> | undefined;
}

/** A round remembers so many. Those beyond may have more than one turn in it. */
const mostSeen = 100_000;

/**
 * The schedules of one partition that are behind their time. Memory holds some of them; the others are left to the store,
 * and found by a round through it, page by page, from the oldest on. A fire moves its schedule on, ahead of the round as a
 * rule; it has no further turn in this round, so that those that stay behind keep none of the others from being found.
 */
export class LateFires {
  readonly #byTask = new Map<string, UpcomingFire>();
  readonly #queue: (fire: UpcomingFire) => void;
  /** All that is left to the store since the last round began is due by this time. Undefined: nothing is. */
  #left: number | undefined;
  #round: Round | undefined;

  /** @param queue the fire waits for its turn from now on */
  constructor(queue: (fire: UpcomingFire) => void) {
    this.#queue = queue;
  }

  /** Some of it is in the store alone, and no page of it is on its way. */
  get wantsRead(): boolean {
    return this.#round === undefined ? this.#left !== undefined : this.#round.touched === undefined;
  }

  has(name: string): boolean {
    return this.#byTask.has(name);
  }

  enter(row: FiringRow): void {
    const fire: UpcomingFire = { row, state: 'queued' };
    this.#byTask.set(taskName(row.nodeGroup, row.taskId), fire);
    this.#see(row);
    this.#queue(fire);
  }

  /** It is left to the store, for the next round. */
  leave(row: FiringRow): void {
    this.#see(row);
    this.leaveAll(row.nextAt);
  }

  /** Whatever is due by this time is left to the store. */
  leaveAll(until: number): void {
    this.#left = Math.max(this.#left ?? until, until);
  }

  remove(nodeGroup: string, taskId: string): void {
    const name = taskName(nodeGroup, taskId);
    this.#round?.touched?.add(name);
    this.#byTask.delete(name);
  }

  /** Whether nothing newer has been told of the schedule since it entered. */
  isCurrent(fire: UpcomingFire): boolean {
    return this.#byTask.get(taskName(fire.row.nodeGroup, fire.row.taskId)) === fire;
  }

  /** Whether this is known, or rightly left to the store. */
  knows({ nodeGroup, taskId, nextAt, version }: FiringRow): boolean {
    const known = this.#byTask.get(taskName(nodeGroup, taskId))?.row;
    if (known !== undefined) return known.nextAt === nextAt && known.version === version;
    return nextAt <= Math.max(this.#left ?? Number.NEGATIVE_INFINITY, this.#round?.until ?? Number.NEGATIVE_INFINITY);
  }

  /** A page is on its way; gives where it goes on, and until when. */
  beginRead(now: number): { after: ScheduleKey | undefined; until: number } {
    if (this.#round === undefined) {
      this.#round = { until: Math.max(now, this.#left ?? now), after: undefined, seen: new Set(), touched: undefined };
      this.#left = undefined;
    }
    this.#round.touched = new Set();
    return this.#round;
  }

  /** What it brought; fewer than were asked for end the round. Gives those that are news. */
  endRead(rows: readonly ScheduleRow[], asked: number): FiringRow[] {
    const { touched, seen } = this.#round ?? {};
    if (this.#round === undefined || touched === undefined) return [];
    const last = rows.at(-1);
    if (rows.length >= asked && last !== undefined && isFiring(last)) {
      this.#round.after = { nextAt: last.nextAt, sched: last.sched };
      this.#round.touched = undefined;
    } else this.#round = undefined;
    return rows.filter(isFiring).filter((row) => {
      const name = taskName(row.nodeGroup, row.taskId);
      if (touched.has(name) || this.#byTask.has(name)) return false;
      if (seen?.has(row.sched) !== true) return true;
      this.leaveAll(row.nextAt);
      return false;
    });
  }

  /** The page came to nothing: it is read again. */
  failRead(): void {
    if (this.#round !== undefined) this.#round.touched = undefined;
  }

  #see({ sched }: FiringRow): void {
    const seen = this.#round?.seen;
    if (seen !== undefined && seen.size < mostSeen) seen.add(sched);
  }
}
