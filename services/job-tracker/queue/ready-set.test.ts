import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReadyRow } from './queue-store.js';
import { compareReady } from './ready-key.js';
import { ReadySet } from './ready-set.js';

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

  describe('for workers that run some types only', () => {
    type Free = (type: string) => boolean;
    const sorted = (stored: readonly ReadyRow[]): ReadyRow[] => [...stored].sort(compareReady);
    const after = (stored: readonly ReadyRow[], key: Pick<ReadyRow, 'priority' | 'dueAt' | 'seq'> | undefined, limit: number): ReadyRow[] =>
      sorted(stored).filter((each) => key === undefined || compareReady(each, key) > 0).slice(0, limit);
    /** As the dispatcher does: from memory, else from further reads. Tells how many reads it took. */
    const take = (set: ReadySet, stored: readonly ReadyRow[], isFree: Free): { row: ReadyRow | undefined; reads: number } => {
      for (let reads = 0; ; reads++) {
        const row = set.shiftWhere((each) => isFree(each.type));
        if (row !== undefined) return { row, reads };
        const { wanted, boundary, generation } = set;
        const read = wanted > 0 ? undefined : set.further.next(set, isFree);
        if (wanted > 0) set.refill(after(stored, boundary, wanted), wanted, generation);
        else if (read === undefined) return { row, reads };
        else set.further.found(after(stored, read.after, read.limit), read, isFree);
      }
    };
    const flood = (count: number): ReadyRow[] => Array.from({ length: count }, (_, i) => row(i + 1, 100, 0, 'slow'));

    it('finds what is behind thousands of rows whose worker is busy, and reads each of them once', () => {
      const stored = [...flood(5_000), row(9_001, 100, 0, 'mail'), row(9_002, 100, 0, 'mail')];
      const set = new ReadySet(64, false);
      const mailOnly: Free = (type) => type === 'mail';
      expect(take(set, stored, mailOnly)).toMatchObject({ row: { seq: 9_001 } });
      expect(take(set, stored, mailOnly)).toEqual({ row: expect.objectContaining({ seq: 9_002 }), reads: 0 });
      expect(take(set, stored, mailOnly)).toEqual({ row: undefined, reads: 0 });
      set.insert(row(9_003, 100, 0, 'mail'));
      expect(take(set, stored, mailOnly)).toEqual({ row: expect.objectContaining({ seq: 9_003 }), reads: 0 });
    });

    it('gives each type in its order, once, whoever is free when, whatever arrives', () => {
      const types = ['a', 'b', 'c'];
      const operation = fc.oneof(
        fc.record({ kind: fc.constant('arrive' as const), priority: fc.integer({ min: 0, max: 3 }), type: fc.constantFrom(...types) }),
        fc.record({ kind: fc.constant('take' as const), free: fc.subarray(types, { minLength: 1 }) }),
        fc.record({ kind: fc.constant('remove' as const) }),
      );
      fc.assert(
        fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
          const set = new ReadySet(4, true);
          const stored: ReadyRow[] = [];
          let seq = 0;
          for (const each of operations) {
            if (each.kind === 'arrive') {
              const arrived = row(++seq, each.priority, 0, each.type);
              stored.push(arrived);
              set.insert(arrived);
            } else if (each.kind === 'remove') {
              const [gone] = stored.splice(Math.floor(stored.length / 2), 1);
              if (gone !== undefined) set.remove(gone.seq);
            } else {
              const isFree: Free = (type) => each.free.includes(type);
              const { row: taken } = take(set, stored, isFree);
              expect(taken === undefined).toBe(!stored.some(({ type }) => isFree(type)));
              if (taken === undefined) continue;
              const first = sorted(stored).find(({ type }) => type === taken.type);
              expect(taken.seq).toBe(first?.seq);
              stored.splice(stored.indexOf(first as ReadyRow), 1);
            }
          }
        }),
        { numRuns: 300 },
      );
    });
  });
});
