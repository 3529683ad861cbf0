import type { SchedulePlan } from '../../../shared/schedule/schedule-plan.js';
import type { Timetable } from '../../../shared/schedule/timetable.js';
import type { Fire, FireRun, PassedTime, ScheduleRow } from '../queue/queue-store.js';
import { runKey } from '../queue/task-key.js';
import { coveredBy, type GivesWay, type LiveRun, meet, type NamedRun } from './blocking.js';
import { firstToRun } from './misfire.js';
import { mostCounted, owedTimes } from './owed-times.js';

/** Times on time that one fire answers. Missed ones are answered all at once: what becomes of them is one decision. */
const atOnce = 100;

/** What one fire does. */
export interface FireDecision extends Pick<Fire, 'nextAt' | 'over' | 'runs' | 'passed'> {
  /** Live runs that are to end once the fire is stored. */
  giveWay: GivesWay[];
  /** The times that are noted as MISSED; `count` includes those that one row sums up, as far as they were counted. */
  missed: { count: number; from: number; to: number } | undefined;
}

/** What the decision looks at. */
export interface DueSchedule {
  row: Pick<ScheduleRow, 'taskId' | 'fires' | 'lastAt'> & { nextAt: number };
  plan: SchedulePlan;
  timetable: Timetable;
  /** Its live guarded runs, oldest first. */
  live: readonly LiveRun[];
  /** How many more jobs of its group may wait, and what is said of times that find no room. */
  backlog: { room: number; full: string };
}

/** Whether the plan limits how many runs live at once. */
export function isGuardedPlan(plan: SchedulePlan): boolean {
  return plan.blocking.limit > 0;
}

/**
 * What becomes of the times that have come, the oldest first. Of those on time what is left is due again at once. It depends on its input alone, so that the next owner of the partition goes on in the same way.
 */
export function decideFire({ row, plan, timetable, live, backlog }: DueSchedule, now: number, newId: () => string): FireDecision {
  const fire = new Decision(row.taskId, plan, live, backlog, plan.count < 0 ? Number.POSITIVE_INFINITY : plan.count - row.fires, newId);
  if (plan.endAt !== 0 && row.nextAt > plan.endAt) return fire.done(undefined, true);
  // It was replaced when this time had just run, or after the clock was set back.
  if (row.lastAt !== undefined && row.nextAt <= row.lastAt) return fire.done(timetable.next(row.lastAt + 1), false);
  if (plan.times.kind === 'repeat' && plan.times.fixedDelay) {
    if (row.nextAt < now - plan.misfire.threshold) fire.missed([row.nextAt], plan, now);
    else fire.onTime(row.nextAt);
    // Its next time follows from the end of the run, which is not before the interval has passed.
    return fire.done(undefined, plan.endAt !== 0 && now + plan.times.interval > plan.endAt);
  }
  const { older, missed, onTime, next } = owedTimes(timetable, row.nextAt, now, plan.misfire.threshold, atOnce);
  if (older !== undefined) fire.sumUp(older);
  const unanswered = fire.missed(missed, plan, now) ?? onTime.find((time) => !fire.onTime(time));
  return fire.done(unanswered ?? next, false);
}

class Decision {
  readonly #runs: FireRun[] = [];
  readonly #passed: PassedTime[] = [];
  readonly #giveWay: GivesWay[] = [];
  readonly #taskId: string;
  readonly #plan: SchedulePlan;
  readonly #guarded: boolean;
  #live: readonly LiveRun[];
  readonly #backlog: DueSchedule['backlog'];
  #runsLeft: number;
  #missed: FireDecision['missed'];
  readonly #newId: () => string;

  constructor(taskId: string, plan: SchedulePlan, live: readonly LiveRun[], backlog: DueSchedule['backlog'], runsLeft: number, newId: () => string) {
    this.#taskId = taskId;
    this.#plan = plan;
    this.#guarded = isGuardedPlan(plan);
    this.#live = live;
    this.#backlog = backlog;
    this.#runsLeft = runsLeft;
    this.#newId = newId;
  }

  done(nextAt: number | undefined, ended: boolean): FireDecision {
    const { times } = this.#plan;
    const rests = times.kind === 'repeat' && times.fixedDelay;
    const over = ended || this.#runsLeft <= 0 || (nextAt === undefined && !rests);
    return { runs: this.#runs, passed: this.#passed, giveWay: this.#giveWay, missed: this.#missed, nextAt: over ? undefined : nextAt, over };
  }

  sumUp({ count, from, to }: { count: number; from: number; to: number }): void {
    this.#miss(to, `missed; and ${count < mostCounted ? '' : 'at least '}${count - 1} earlier times from ${iso(from)} on`, from, count);
  }

  /** Gives the first time that is left, as there are no runs any more. */
  missed(times: readonly number[], { misfire }: SchedulePlan, now: number): number | undefined {
    const runFrom = firstToRun(times, misfire, now);
    return times.find((time, index) => {
      if (this.#runsLeft <= 0) return true;
      if (index < runFrom) this.#miss(time, `missed: its schedule was late by more than ${misfire.threshold} ms`);
      // All of them were asked for: none is discarded because another one still goes.
      else this.#meet(time, misfire.action === 'FIRE_ALL');
      return false;
    });
  }

  /** False: it is left, as there are no runs any more, or as this fire fills the backlog: the next one sees what workers took. */
  onTime(time: number): boolean {
    const { room } = this.#backlog;
    if (this.#runsLeft <= 0 || (!this.#guarded && room > 0 && this.#runs.length >= room)) return false;
    this.#meet(time, false);
    return true;
  }

  #miss(time: number, message: string, from = time, count = 1): void {
    this.#missed = { count: (this.#missed?.count ?? 0) + count, from: this.#missed?.from ?? from, to: time };
    this.#pass('MISSED', time, message, this.#newId());
  }

  #pass(state: PassedTime['state'], scheduledAt: number, message: string, id: string): void {
    this.#passed.push({ id, taskKey: this.#key(scheduledAt), scheduledAt, state, message });
  }

  #meet(time: number, owed: boolean): void {
    const id = this.#newId();
    const { blocking } = this.#plan;
    // Of a schedule that limits its runs no backlog can grow without end.
    if (!this.#guarded && this.#backlog.room <= 0) return this.#pass('DISCARDED', time, this.#backlog.full, id);
    const meeting = meet(owed ? { ...blocking, strategy: 'SERIAL', queue: Number.POSITIVE_INFINITY } : blocking, this.#live, { id, scheduledAt: time });
    if (meeting.does === 'discard') return this.#pass('DISCARDED', time, meeting.message, id);
    if (meeting.does === 'hold') for (const each of meeting.giveWay) this.#yield(each, { id, scheduledAt: time });
    // What this very fire has covered leaves nothing to wait for.
    const held = meeting.does === 'hold' && this.#live.length >= blocking.limit;
    const taskKey = this.#key(time);
    this.#runs.push({ id, taskKey, scheduledAt: time, held, counts: true });
    this.#runsLeft--;
    if (this.#guarded) this.#live = [...this.#live, { id, taskKey, stands: held ? 'held' : 'active', begun: true }];
  }

  #yield(run: GivesWay, to: NamedRun): void {
    const at = this.#runs.findIndex(({ id }) => id === run.id);
    if (at < 0) {
      if (!this.#giveWay.some(({ id }) => id === run.id)) this.#giveWay.push(run);
      return;
    }
    const [mine] = this.#runs.splice(at, 1);
    this.#live = this.#live.filter(({ id }) => id !== run.id);
    this.#runsLeft++;
    if (mine !== undefined) this.#pass('DISCARDED', mine.scheduledAt, coveredBy(to), mine.id);
  }

  #key(time: number): string {
    return runKey(this.#taskId, this.#guarded, time);
  }
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
