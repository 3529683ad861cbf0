import { describe, expect, it } from 'vitest';
import { type Facts, FactsCache } from './facts-cache.js';

const facts = (taskId: string): Facts => ({ partition: 0, groupId: 1, taskId, priority: 1, dueAt: 1, clientId: 0 });

describe('FactsCache', () => {
  it('gives the newest facts, and none after they were deleted', () => {
    const cache = new FactsCache(4);
    cache.set(1, facts('a'));
    cache.set(1, facts('b'));
    expect(cache.get(1)).toEqual(facts('b'));
    cache.delete(1);
    expect(cache.get(1)).toBeUndefined();
  });

  it('keeps the newest half at least and never more than its limit', () => {
    const cache = new FactsCache(10);
    for (let seq = 1; seq <= 100; seq++) cache.set(seq, facts(`t${seq}`));
    const kept = Array.from({ length: 100 }, (_, i) => i + 1).filter((seq) => cache.get(seq) !== undefined);
    expect(kept.length).toBeLessThanOrEqual(10);
    expect(kept.slice(-5)).toEqual([96, 97, 98, 99, 100]);
  });

  it('has no older facts behind newer or deleted ones', () => {
    const cache = new FactsCache(4);
    cache.set(1, facts('old'));
    cache.set(2, facts('x'));
    cache.set(3, facts('y'));
    cache.set(1, facts('new'));
    expect(cache.get(1)).toEqual(facts('new'));
    cache.delete(1);
    expect(cache.get(1)).toBeUndefined();
  });

  it('is empty after clear', () => {
    const cache = new FactsCache(4);
    for (let seq = 1; seq <= 4; seq++) cache.set(seq, facts('a'));
    cache.clear();
    expect([1, 2, 3, 4].map((seq) => cache.get(seq))).toEqual([undefined, undefined, undefined, undefined]);
  });
});
