import { beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../shared/log/logger.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import { OwnedGroups } from '../queue/owned-groups.js';
import type { ScheduleKey, ScheduleRow } from '../queue/queue-store.js';
import { FireTimer } from './fire-timer.js';
import type { Firing } from './firing.js';

type Fired = Parameters<Firing['fire']>[2];

const policy = { maxRetryTimes: 0, timeoutMs: 0, maxLost: 3, failOnLoss: false };

/** A timer on a store that is a map, and fires that are answered as the test says. */
class Bench {
  readonly clock = new VirtualClock();
  readonly groups = new OwnedGroups(100);
  readonly stored = new Map<number, ScheduleRow>();
  readonly fires: { row: ScheduleRow; at: number; fired: Fired }[] = [];
  readonly reads: number[] = [];
  readonly rested: ScheduleRow[] = [];
  /** Undefined: it waits for the test. */
  answer: 'moves' | 'fails' | 'slowly' | undefined = 'moves';
  /** How far a fire that is stored slowly moves its schedule. */
  stepMs: (row: ScheduleRow) => number = () => 86_400_000;
  /** How long each decision keeps the loop. */
  decisionMs = 0;
  /** Fires that wait for a commit; undefined: none runs. */
  #waiting: { row: ScheduleRow; fired: Fired }[] | undefined;
  readsFail = false;
  /** That each fire brings. */
  rows = 1;
  readonly timer: FireTimer;

  constructor() {
    const store = {
      readSchedules: (partition: number, after: ScheduleKey | undefined, until: number, limit: number) => {
        if (this.readsFail) return Promise.reject(new Error('no'));
        const rows = [...this.stored.values()].filter(({ nextAt = Number.POSITIVE_INFINITY, sched }) => nextAt <= until && (after === undefined || nextAt > after.nextAt || (nextAt === after.nextAt && sched > after.sched)));
        rows.sort((a, b) => (a.nextAt ?? 0) - (b.nextAt ?? 0) || a.sched - b.sched);
        this.reads.push(limit);
        return Promise.resolve(partition === 0 ? rows.slice(0, limit) : []);
      },
      readSchedule: (_group: string, taskId: string) => Promise.resolve([...this.stored.values()].find((row) => row.taskId === taskId)),
    };
    const firing = {
      fire: (_owned: unknown, row: ScheduleRow, fired: Fired) => {
        this.fires.push({ row, at: this.clock.now(), fired });
        this.clock.stand(this.decisionMs);
        if (this.answer === 'slowly') this.#commit({ row, fired });
        if (this.answer === 'fails') setImmediate(() => fired(undefined, undefined, new Error('failed') as never));
        if (this.answer === 'moves') setImmediate(() => this.moved(row, fired));
        return this.rows;
      },
    } as unknown as Firing;
    this.timer = new FireTimer({ groups: this.groups, store, firing, rests: (_partition, row) => this.rested.push(row), clock: this.clock, log: silentLogger });
    this.groups.adopt({ partition: 0, epoch: 1 }, { groups: [], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } });
  }

  row(sched: number, inMs: number, nodeGroup = 'g'): ScheduleRow {
    const row: ScheduleRow = {
      sched, version: 1, id: `id-${sched}`, nodeGroup, taskId: `t${sched}`, type: 'default', priority: 100, needFeedback: false, submitNodeGroup: '',
      policy, plan: '', state: 'ACTIVE', nextAt: this.clock.now() + inMs, fires: 0, lastAt: undefined, createdAt: 0, updatedAt: 0, job: undefined,
    };
    this.stored.set(sched, row);
    return row;
  }

  /** The fire is stored: the next one comes in a day. */
  moved(row: ScheduleRow, fired: Fired, byMs = 86_400_000): void {
    const next = { ...row, nextAt: (row.nextAt ?? 0) + byMs };
    this.stored.set(row.sched, next);
    fired(next, { kind: 'fire', applied: true, again: false, runs: [] }, undefined);
  }

  /** A commit takes 50 ms; what arrives meanwhile is the next one. */
  #commit(...fires: { row: ScheduleRow; fired: Fired }[]): void {
    if (this.#waiting !== undefined) return void this.#waiting.push(...fires);
    this.#waiting = [];
    this.clock.after(50, () => {
      const next = this.#waiting ?? [];
      this.#waiting = undefined;
      if (next.length > 0) this.#commit(...next);
      for (const { row, fired } of fires) this.moved(row, fired, this.stepMs(row));
    });
  }

  /** How late the fires of a group were. */
  latenesses(nodeGroup: string): number[] {
    return this.fires.filter(({ row }) => row.nodeGroup === nodeGroup).map(({ row, at }) => at - (row.nextAt ?? 0));
  }

  firedScheds(): number[] {
    return this.fires.map(({ row }) => row.sched);
  }
}

describe('FireTimer', () => {
  let bench: Bench;

  beforeEach(() => {
    bench = new Bench();
  });

  it('has a bounded number of runs and passed times on their way, however many one fire brings', async () => {
    bench.answer = undefined;
    bench.rows = 1_001;
    for (let sched = 1; sched <= 4; sched++) bench.row(sched, -1);
    bench.timer.adopted(0);
    await bench.clock.advance(10);
    expect(bench.firedScheds()).toEqual([1, 2]);
    const [first] = bench.fires;
    if (first !== undefined) bench.moved(first.row, first.fired);
    await bench.clock.advance(10);
    expect(bench.firedScheds()).toEqual([1, 2, 3]);
  });

  it('fires on time what it has read, what it is told, and not what is gone', async () => {
    for (const sched of [1, 2, 3]) bench.row(sched, sched * 1_500);
    bench.timer.adopted(0);
    await bench.clock.advance(100);
    const begun = bench.clock.now();
    bench.timer.put(0, bench.row(4, 2_000));
    bench.timer.remove(0, 'g', 't2');
    await bench.clock.advance(5_000);
    expect(bench.fires.map(({ row, at }) => [row.sched, at - (row.nextAt ?? 0)])).toEqual([[1, 0], [4, 0], [3, 0]]);
    expect(bench.clock.now() - begun).toBe(5_000);
  });

  it('reads on as time passes, and fires what was far away at first', async () => {
    bench.row(1, 3_600_000);
    bench.timer.adopted(0);
    await bench.clock.advance(3_599_999);
    expect(bench.fires).toEqual([]);
    await bench.clock.advance(1);
    expect(bench.firedScheds()).toEqual([1]);
    // Twice within its horizon of ten seconds.
    expect(bench.reads.length).toBeLessThan(1_000);
  });

  it('tries again what did not come into the store', async () => {
    bench.row(1, 1_000);
    bench.answer = 'fails';
    bench.timer.adopted(0);
    await bench.clock.advance(1_100);
    expect(bench.fires).toHaveLength(1);
    bench.answer = 'moves';
    await bench.clock.advance(600);
    expect(bench.fires).toHaveLength(2);
    await bench.clock.advance(5_000);
    expect(bench.fires).toHaveLength(2);
  });

  it('tries a read again', async () => {
    bench.row(1, 300);
    bench.readsFail = true;
    bench.timer.adopted(0);
    await bench.clock.advance(400);
    bench.readsFail = false;
    await bench.clock.advance(400);
    expect(bench.firedScheds()).toEqual([1]);
  });

  it('reads a schedule again whose fire the store did not take', async () => {
    const row = bench.row(1, 100);
    bench.answer = undefined;
    bench.timer.adopted(0);
    await bench.clock.advance(100);
    bench.stored.set(1, { ...row, version: 2, nextAt: bench.clock.now() + 1_000 });
    bench.fires[0]?.fired(undefined, { kind: 'fire', applied: false, again: false, runs: [] }, undefined);
    await bench.clock.advance(1_000);
    expect(bench.fires.map(({ row: { version } }) => version)).toEqual([1, 2]);
  });

  it('does not believe a fire of what has been replaced meanwhile', async () => {
    const row = bench.row(1, 100);
    bench.answer = undefined;
    bench.timer.adopted(0);
    await bench.clock.advance(100);
    bench.timer.put(0, { ...row, version: 2, nextAt: bench.clock.now() + 500 });
    bench.fires[0]?.fired({ ...row, nextAt: bench.clock.now() + 100 }, { kind: 'fire', applied: true, again: false, runs: [] }, undefined);
    await bench.clock.advance(1_000);
    expect(bench.fires.map(({ row: { version } }) => version)).toEqual([1, 2]);
  });

  it('tells what rests', async () => {
    const row = bench.row(1, 100);
    bench.answer = undefined;
    bench.timer.adopted(0);
    await bench.clock.advance(100);
    bench.fires[0]?.fired({ ...row, nextAt: undefined }, { kind: 'fire', applied: true, again: false, runs: [] }, undefined);
    expect(bench.rested).toHaveLength(1);
  });

  it('fires nothing of a partition that is about to go, or has gone', async () => {
    bench.row(1, 1_000);
    bench.timer.adopted(0);
    await bench.clock.advance(100);
    const owned = bench.groups.partitions.get(0);
    if (owned !== undefined) owned.leaving = true;
    await bench.clock.advance(2_000);
    bench.groups.drop(0);
    bench.timer.dropped();
    await bench.clock.advance(2_000);
    expect(bench.fires).toEqual([]);
  });

  it('fires all of many that are overdue, in their order, with a bounded part of them in memory', async () => {
    for (let sched = 1; sched <= 30_000; sched++) bench.row(sched, -100_000 + sched);
    bench.answer = undefined;
    bench.timer.adopted(0);
    await bench.clock.advance(100);
    // What nobody answers does not grow beyond what may be on its way.
    expect(bench.fires).toHaveLength(2_000);
    expect(bench.reads.reduce((sum, limit) => sum + limit, 0)).toBeLessThanOrEqual(23_000);
    bench.answer = 'moves';
    for (const { row, fired } of [...bench.fires]) bench.moved(row, fired);
    await bench.clock.advance(3_000);
    expect(bench.firedScheds()).toEqual(Array.from({ length: 30_000 }, (_, index) => index + 1));
  });

  it('leaves what is too much to the store, and fires it all the same', async () => {
    bench.timer.adopted(0);
    await bench.clock.advance(100);
    // Taken in from the latest to the first, all within the horizon.
    for (let sched = 25_000; sched >= 1; sched--) bench.timer.put(0, bench.row(sched, 1_000 + Math.floor(sched / 10)));
    await bench.clock.advance(10_000);
    expect(bench.fires).toHaveLength(25_000);
    expect(new Set(bench.firedScheds()).size).toBe(25_000);
  });

  describe.each([
    ['every millisecond', 5_000, -1, 20],
    ['one day behind', 5_000, -86_400_000, 100_000],
    ['more than memory takes', 25_000, -86_400_000, 1_000],
  ])('beside a flood that stays behind: %s', (_name, flood, sinceMs, floodStepMs) => {
    beforeEach(() => {
      bench.answer = 'slowly';
      bench.stepMs = ({ nodeGroup }) => (nodeGroup === 'flood' ? floodStepMs : 1_000);
      for (let sched = 1; sched <= flood; sched++) bench.row(sched, sinceMs, 'flood');
    });

    it('fires what is on time on time', async () => {
      bench.row(flood + 1, 500, 'bill');
      bench.timer.adopted(0);
      await bench.clock.advance(10_000);
      const late = bench.latenesses('bill');
      expect(late).toHaveLength(10);
      expect(Math.max(...late)).toBeLessThanOrEqual(200);
      // The flood has its share all the same.
      expect(bench.latenesses('flood').length).toBeGreaterThan(100_000);
    });

    it('fires each of those behind in its turn', async () => {
      // The last one that a read in the stored order finds.
      bench.row(flood + 1, 0, 'bill');
      bench.timer.adopted(0);
      await bench.clock.advance(5_000);
      expect(bench.latenesses('bill')[0]).toBeLessThan(2_000);
      expect(new Set(bench.firedScheds()).size).toBe(flood + 1);
    });
  });

  it('leaves the loop to others between many decisions', async () => {
    for (let sched = 1; sched <= 500; sched++) bench.row(sched, sched % 2 === 0 ? -100 : 100);
    bench.decisionMs = 2;
    let longest = 0;
    const tick = (from: number): void => void bench.clock.after(1, () => {
      longest = Math.max(longest, bench.clock.monotonic() - from);
      tick(bench.clock.monotonic());
    });
    tick(0);
    bench.timer.adopted(0);
    await bench.clock.advance(5_000);
    expect(bench.fires).toHaveLength(500);
    expect(longest).toBeLessThanOrEqual(30);
  });

  it('takes a row whose time is not yet there when the clock has been set back', async () => {
    for (let sched = 1; sched <= 3_000; sched++) bench.row(sched, -100);
    bench.answer = undefined;
    bench.timer.adopted(0);
    await bench.clock.advance(10);
    bench.clock.step(-5_000);
    bench.answer = 'moves';
    for (const { row, fired } of [...bench.fires]) bench.moved(row, fired);
    await bench.clock.advance(4_000);
    expect(bench.fires).toHaveLength(2_000);
    await bench.clock.advance(1_500);
    expect(new Set(bench.firedScheds()).size).toBe(3_000);
  });
});
