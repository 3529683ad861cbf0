import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReadyRow } from './queue-store.js';
import { compareReady, ReadySet } from './ready-set.js';

const row = (seq: number, priority = 100, dueAt = 0, type = 'default'): ReadyRow => ({
  seq,
  id: String(seq),
  type,
  priority,
  dueAt,
  scheduledAt: dueAt,
  attempts: 0,
  retryTimes: 0,
  lostTimes: 0,
  policy: { maxRetryTimes: 0, timeoutMs: 0, maxLost: 3, failOnLoss: false },
});

const drain = (set: ReadySet): number[] => {
  const seqs: number[] = [];
  for (let next = set.shift(); next !== undefined; next = set.shift()) seqs.push(next.seq);
  return seqs;
};

describe('ReadySet', () => {
  it('gives rows by priority, then time, then arrival', () => {
    const set = new ReadySet(10, true);
    for (const each of [row(1, 100, 5), row(2, 10, 9), row(3, 100, 4), row(4, 100, 4), row(5, 10, 9)]) set.insert(each);
    expect(drain(set)).toEqual([2, 5, 3, 4, 1]);
  });

  it('pushes the tail out when it is full, and then keeps later arrivals out', () => {
    const set = new ReadySet(2, true);
    set.insert(row(1));
    set.insert(row(2));
    set.insert(row(3));
    expect(set.size).toBe(2);
    expect(set.whole).toBe(false);
    set.insert(row(4));
    set.insert(row(5, 1));
    expect(drain(set)).toEqual([5, 1]);
  });

  it('takes nothing from a read that began before a reset', () => {
    const set = new ReadySet(8, false);
    const { generation } = set;
    set.reset();
    set.refill([row(1)], 1, generation);
    expect(set.size).toBe(0);
    expect(set.boundary).toBeUndefined();
  });

  it('lets go of rows that no worker runs, and goes on behind them', () => {
    const set = new ReadySet(4, false);
    set.refill([row(1, 1, 0, 'a'), row(2, 1, 0, 'b'), row(3, 1, 0, 'a'), row(4, 1, 0, 'a')], 4, set.generation);
    set.passOver((each) => each.type === 'b');
    expect(set.wanted).toBe(3);
    expect(set.boundary?.seq).toBe(4);
    expect(drain(set)).toEqual([2]);
  });

  it('reads from the start again once somebody may run what was passed over, and only then', () => {
    const set = new ReadySet(4, false);
    set.refill([row(1, 1, 0, 'a'), row(2, 1, 0, 'b'), row(3, 1, 0, 'b'), row(4, 1, 0, 'b')], 4, set.generation);
    set.recall();
    expect(set.size).toBe(4);
    set.passOver((each) => each.type === 'b');
    set.recall();
    expect([set.size, set.boundary, set.whole]).toEqual([0, undefined, false]);
  });

  it('gives every row exactly once and in order, whatever stays in the store', () => {
    const operation = fc.oneof(
      fc.record({ kind: fc.constant('arrive' as const), priority: fc.integer({ min: 0, max: 3 }), dueAt: fc.integer({ min: 0, max: 3 }) }),
      fc.record({ kind: fc.constant('take' as const) }),
      fc.record({ kind: fc.constant('reset' as const) }),
    );
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
        const set = new ReadySet(4, true);
        const stored: ReadyRow[] = [];
        let seq = 0;
        const refill = (): void => {
          while (set.wanted > 0) {
            const { boundary, wanted } = set;
            const found = stored.filter((each) => boundary === undefined || compareReady(each, boundary) > 0).sort(compareReady);
            set.refill(found.slice(0, wanted), wanted, set.generation);
          }
        };
        for (const each of operations) {
          if (each.kind === 'arrive') {
            const arrived = row(++seq, each.priority, each.dueAt);
            stored.push(arrived);
            set.insert(arrived);
          } else if (each.kind === 'reset') set.reset();
          else {
            refill();
            const taken = set.shift();
            const first = [...stored].sort(compareReady)[0];
            expect(taken?.seq).toBe(first?.seq);
            if (first !== undefined) stored.splice(stored.indexOf(first), 1);
          }
        }
      }),
    );
  });
});
