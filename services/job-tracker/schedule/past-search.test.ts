import { describe, expect, it } from 'vitest';
import type { PastSchedule } from '../queue/queue-store.js';
import { PastSearch } from './past-search.js';

describe('the search for schedules that have ended', () => {
  /** Searches that the store has, in their order; each ends when it is told to. */
  const begin = () => {
    const begun: { taskId: string; end: (found?: PastSchedule) => void; fail: (error: Error) => void }[] = [];
    const search = new PastSearch({
      findPastSchedule: (_group, taskId) => new Promise((resolve, reject) => begun.push({ taskId, end: resolve, fail: reject })),
    });
    return { begun, search };
  };
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it('leaves the store to others between two of them, also when one fails', async () => {
    const { begun, search } = begin();
    const first = search.find('g', 'first');
    const second = search.find('g', 'second');
    const third = search.find('g', 'third');
    await turn();
    expect(begun.map(({ taskId }) => taskId)).toEqual(['first']);
    begun[0]?.fail(new Error('away'));
    await expect(first).rejects.toThrow('away');
    await turn();
    expect(begun.map(({ taskId }) => taskId)).toEqual(['first', 'second']);
    begun[1]?.end();
    expect(await second).toBeUndefined();
    await turn();
    begun[2]?.end();
    expect(await third).toBeUndefined();
  });

  it('refuses what would wait too long, until others have ended', async () => {
    const { begun, search } = begin();
    const all = Array.from({ length: 10 }, (_, i) => search.find('g', `task ${i}`));
    await expect(search.find('g', 'more')).rejects.toMatchObject({ reason: 'TOO_MANY_CALLS', message: expect.stringContaining('10 searches') as string });
    await turn();
    begun[0]?.end();
    await all[0];
    await turn();
    void search.find('g', 'again');
    for (let i = 1; i <= 10; i++) {
      begun[i]?.end();
      await turn();
    }
    await Promise.all(all);
    expect(begun.map(({ taskId }) => taskId).slice(-2)).toEqual(['task 9', 'again']);
  });
});
