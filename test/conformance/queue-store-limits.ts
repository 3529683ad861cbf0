import { expect, it } from 'vitest';
import { admit, limit, OpenStore, owner, type StoreBench } from './queue-store-bench.js';

/** What an operator sets of a group. */
export function limits(bench: () => StoreBench): void {
  const opened = () => OpenStore.of(bench().connect());
  const all = { backlog: 2_147_483_648, maxRunning: 0, startsPerSecond: 0.1 };

  it('gives the next owner what was set, in place of what was set before', async () => {
    const open = await opened();
    await open.admitted();
    expect((await open.store.load(0)).groups).toEqual([{ nodeGroup: 'group', waiting: 0, ready: 1 }]);
    expect(await open.one(limit({ backlog: 5 }))).toEqual({ kind: 'limit' });
    await open.one(limit(all));
    await open.store.close();
    const next = await opened();
    expect((await next.store.load(0)).groups).toEqual([{ nodeGroup: 'group', waiting: 0, ready: 1, limits: all }]);
    await next.one(limit({ startsPerSecond: 1_000 }));
    expect((await next.store.load(0)).groups).toEqual([{ nodeGroup: 'group', waiting: 0, ready: 1, limits: { startsPerSecond: 1_000 } }]);
    await next.one(limit({}));
    expect((await next.store.load(0)).groups).toEqual([{ nodeGroup: 'group', waiting: 0, ready: 1 }]);
  });

  it('keeps those of a group that has no job yet, and of each group on its own', async () => {
    const open = await opened();
    await open.commit([limit(all), limit({ maxRunning: 1 }, { nodeGroup: 'second' }), admit({ nodeGroup: 'third' })]);
    expect((await open.store.load(0)).groups).toEqual([
      { nodeGroup: 'group', waiting: 0, ready: 0, limits: all },
      { nodeGroup: 'second', waiting: 0, ready: 0, limits: { maxRunning: 1 } },
      { nodeGroup: 'third', waiting: 0, ready: 1 },
    ]);
  });

  it('changes nothing under an older epoch', async () => {
    const open = await opened();
    await open.store.take([0], owner);
    await expect(open.one(limit(all))).rejects.toMatchObject({ reason: 'STALE_EPOCH' });
    expect((await open.store.load(0)).groups).toEqual([]);
  });
}
