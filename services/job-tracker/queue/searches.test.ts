import { describe, expect, it } from 'vitest';
import { Searches } from './searches.js';

describe('searches through what has ended', () => {
  const begin = () => {
    const clock = { now: 0, monotonic: () => clock.now };
    const searches = new Searches(clock);
    /** Those that have begun; each ends when it is told to. */
    const begun: { name: string; end: () => void; fail: (error: Error) => void }[] = [];
    const search = (name: string) => searches.run(() => new Promise<string>((resolve, reject) => begun.push({ name, end: () => resolve(name), fail: reject })));
    return { clock, begun, search, names: () => begun.map(({ name }) => name) };
  };
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it('leave the store to others between two of them, also when one fails', async () => {
    const { begun, search, names } = begin();
    const first = search('first');
    const second = search('second');
    await turn();
    expect(names()).toEqual(['first']);
    begun[0]?.fail(new Error('away'));
    await expect(first).rejects.toThrow('away');
    await turn();
    expect(names()).toEqual(['first', 'second']);
    begun[1]?.end();
    expect(await second).toBe('second');
  });

  it('are refused when they had no turn for so long that nobody waits any more', async () => {
    const { clock, begun, search, names } = begin();
    const first = search('first');
    await turn();
    const late = search('late');
    clock.now = 1;
    const inTime = search('in time');
    clock.now = 5_001;
    begun[0]?.end();
    await first;
    await expect(late).rejects.toMatchObject({ reason: 'TOO_MANY_CALLS' });
    await turn();
    expect(names()).toEqual(['first', 'in time']);
    begun[1]?.end();
    expect(await inTime).toBe('in time');
  });
});
