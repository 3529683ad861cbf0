import { describe, expect, it } from 'vitest';
import type { ScheduleRow } from '../queue/queue-store.js';
import { FireWindow } from './fire-window.js';

function row(sched: number, nextAt: number | undefined, version = 1): ScheduleRow {
  return {
    sched, version, id: `id-${sched}`, nodeGroup: 'g', taskId: `t${sched}`, type: 'default', priority: 100, needFeedback: false, submitNodeGroup: '',
    policy: { maxRetryTimes: 0, timeoutMs: 0, maxLost: 3, failOnLoss: false }, plan: '', state: 'ACTIVE', nextAt, fires: 0, lastAt: undefined, createdAt: 0, updatedAt: 0, job: undefined,
  };
}

/** A window that has read these, with so many asked for. */
function read(rows: ScheduleRow[], until: number, asked = 100): FireWindow {
  const window = new FireWindow();
  window.beginRead(until);
  window.endRead(rows, asked);
  return window;
}

function drain(window: FireWindow): [number, number][] {
  const fires: [number, number][] = [];
  for (let fire = window.shift(); fire !== undefined; fire = window.shift()) fires.push([fire.row.sched, fire.row.nextAt]);
  return fires;
}

describe('FireWindow', () => {
  it('gives fires in their order, and leaves what is behind its frontier to the store', () => {
    const window = read([row(2, 10), row(1, 20)], 100);
    window.put(row(3, 15));
    window.put(row(4, 101));
    window.put(row(5, undefined));
    expect(window.reach).toBe(100);
    expect(drain(window)).toEqual([[2, 10], [3, 15], [1, 20]]);
  });

  it('reads on behind a full page', () => {
    const window = read([row(1, 10), row(2, 10)], 100, 2);
    expect(window.reach).toBe(10);
    window.put(row(3, 11));
    window.put(row(0, 10));
    expect(window.beginRead(200)).toEqual({ nextAt: 10, sched: 2 });
    window.endRead([row(3, 11), row(4, 150)], 2);
    expect(drain(window).map(([sched]) => sched)).toEqual([0, 1, 2, 3, 4]);
  });

  it('believes what was told during a read rather than what the read brings', () => {
    const window = read([row(1, 10)], 50);
    window.beginRead(100);
    window.put(row(1, 60, 2));
    window.put(row(2, 70));
    window.put(row(9, 99));
    window.remove('g', 't3');
    window.endRead([row(1, 55), row(2, 80), row(3, 75), row(4, 90)], 4);
    // The page ended at 90: 99 comes with the next one.
    expect(drain(window)).toEqual([[1, 60], [2, 70], [4, 90]]);
  });

  it('keeps nothing behind the frontier when a read fails', () => {
    const window = read([row(1, 10)], 50);
    window.beginRead(100);
    window.put(row(2, 70));
    window.failRead();
    expect(window.reach).toBe(50);
    expect(drain(window)).toEqual([[1, 10]]);
    expect(window.beginRead(100)?.nextAt).toBe(50);
  });

  it('follows changes of what it has, also of what is being fired', () => {
    const window = read([row(1, 10), row(2, 20), row(3, 30)], 100);
    window.put(row(2, 25, 2));
    window.remove('g', 't3');
    const fired = window.shift();
    expect(fired?.row.sched).toBe(1);
    expect(fired !== undefined && window.isCurrent(fired)).toBe(true);
    window.put(row(1, 40, 2));
    expect(fired !== undefined && window.isCurrent(fired)).toBe(false);
    expect(drain(window)).toEqual([[2, 25], [1, 40]]);
  });

  it('lets go of the last ones, and reads them again', () => {
    const window = read([row(1, 10), row(2, 20), row(3, 20), row(4, 30)], 100);
    window.shrink(2);
    expect(window.size).toBe(2);
    window.put(row(3, 20));
    expect(window.size).toBe(2);
    expect(window.beginRead(100)).toEqual({ nextAt: 20, sched: 2 });
    window.endRead([row(3, 20), row(4, 30)], 100);
    expect(drain(window)).toEqual([[1, 10], [2, 20], [3, 20], [4, 30]]);
  });

  it('tells what it should know and does not', () => {
    const window = read([row(1, 10)], 100);
    expect(window.knows(row(1, 10))).toBe(true);
    expect(window.knows(row(1, 11))).toBe(false);
    expect(window.knows(row(1, 10, 2))).toBe(false);
    expect(window.knows(row(2, 50))).toBe(false);
    expect(window.knows(row(2, 101))).toBe(true);
  });

  it('agrees with a simple list under random changes', () => {
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) % below;
    const stored = new Map<number, ScheduleRow>();
    const window = new FireWindow();
    for (let step = 0; step < 3_000; step++) {
      const sched = random(50);
      const known = window.first();
      if (random(4) === 0 && known !== undefined) {
        window.shift();
        const moved = row(known.row.sched, known.row.nextAt + 1 + random(300));
        stored.set(moved.sched, moved);
        window.put(moved);
      } else if (random(5) === 0) {
        stored.delete(sched);
        window.remove('g', `t${sched}`);
      } else if (random(20) === 0) window.shrink(random(5));
      else if (random(3) === 0) {
        const asked = 1 + random(10);
        const until = (known?.row.nextAt ?? 0) + random(400);
        if (until >= window.reach) {
          const after = window.beginRead(until);
          const page = [...stored.values()].filter(({ nextAt = 0, sched: each }) => nextAt <= until && (after === undefined || nextAt > after.nextAt || (nextAt === after.nextAt && each > after.sched)));
          page.sort((a, b) => (a.nextAt ?? 0) - (b.nextAt ?? 0) || a.sched - b.sched);
          window.endRead(page.slice(0, asked), asked);
        }
      } else {
        const put = row(sched, random(2_000));
        stored.set(sched, put);
        window.put(put);
      }
      const all = [...stored.values()].toSorted((a, b) => (a.nextAt ?? 0) - (b.nextAt ?? 0) || a.sched - b.sched);
      expect(window.first()?.row.sched).toBe(window.size > 0 ? all[0]?.sched : undefined);
      expect(all.filter((each) => !window.knows(each))).toEqual([]);
    }
  });
});
