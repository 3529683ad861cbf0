import type { OwnedPartition } from '../queue/owned-groups.js';
import type { ScheduleRow } from '../queue/queue-store.js';
import { LateFires } from './late-fires.js';
import { type FiringRow, FireWindow, isFiring, type UpcomingFire } from './fire-window.js';
import { taskName } from './guarded-runs.js';
import type { Turns } from './turns.js';

/** What is late by more takes turns with all that is behind. */
const lateMs = 1_000;
/** Schedules that are behind, in memory, over all partitions, and a few pages. */
export const mostBehind = 10_000;
/** What falls behind again fills only so much of it: the rest is for those that are in the store alone. */
const mostAgain = mostBehind / 2;

/**
 * The fires of one partition: those that come on time in their order (fire-window.ts), and those that are behind, because
 * their time had come already when they were read or set (late-fires.ts). Each ACTIVE schedule is in the window, beyond its
 * frontier, among the late ones, or left to their next round through the store.
 */
export class PartitionFires {
  readonly partition: OwnedPartition;
  readonly window = new FireWindow();
  readonly late: LateFires;
  readonly #turns: Turns<PartitionFires>;

  constructor(partition: OwnedPartition, turns: Turns<PartitionFires>) {
    this.partition = partition;
    this.#turns = turns;
    this.late = new LateFires((fire) => turns.push(this, fire));
  }

  /** The schedule stands so from now on. */
  put(row: ScheduleRow, now: number): void {
    this.remove(row.nodeGroup, row.taskId);
    if (isFiring(row) && row.nextAt <= now) this.#fallBehind(row);
    else this.window.put(row);
  }

  /** The schedule does not fire any more. */
  remove(nodeGroup: string, taskId: string): void {
    this.window.remove(nodeGroup, taskId);
    this.late.remove(nodeGroup, taskId);
  }

  /** Whether nothing newer has been told of the schedule since it was taken out. */
  isCurrent(fire: UpcomingFire): boolean {
    return this.window.isCurrent(fire) || this.late.isCurrent(fire);
  }

  /** Whether the next fire of this schedule is known, or rightly left to the store. */
  knows(row: ScheduleRow): boolean {
    return !isFiring(row) || this.late.knows(row) || this.window.knows(row);
  }

  /** It is not its turn in memory any more: it is left to the store. */
  leave({ row }: UpcomingFire): void {
    this.remove(row.nodeGroup, row.taskId);
    this.late.leave(row);
  }

  /** What has waited too long in the window for its fire is behind. */
  sortOutLate(now: number): void {
    for (let first = this.window.first(); first !== undefined && first.row.nextAt < now - lateMs; first = this.window.first()) {
      this.window.shift();
      this.put(first.row, now);
    }
  }

  /** What nobody has read in time is left to the late ones, so that the window reaches what comes. */
  skipLate(now: number): void {
    if (this.window.reading || this.window.reach >= now - lateMs) return;
    this.window.skipTo(now);
    this.late.leaveAll(now);
  }

  /** A page for the window has come. */
  endRead(rows: readonly ScheduleRow[], asked: number, now: number): void {
    this.window.endRead(rows, asked, (row) => {
      if (this.late.has(taskName(row.nodeGroup, row.taskId))) return false;
      if (row.nextAt > now) return true;
      this.#fallBehind(row);
      return false;
    });
  }

  /** A page for the late ones has come. */
  endReadBehind(rows: readonly ScheduleRow[], asked: number, now: number): void {
    for (const row of this.late.endRead(rows, asked)) {
      if (this.window.has(taskName(row.nodeGroup, row.taskId))) continue;
      // The clock may have been set back.
      if (row.nextAt > now) this.window.put(row);
      else this.late.enter(row);
    }
  }

  #fallBehind(row: FiringRow): void {
    if (this.#turns.length < mostAgain) this.late.enter(row);
    else this.late.leave(row);
  }
}
