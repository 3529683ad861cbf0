import { describe, expect, it } from 'vitest';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { silentLogger } from '../../../shared/log/logger.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import { OwnedGroups } from '../queue/owned-groups.js';
import type { GuardedRun } from '../queue/queue-store.js';
import { runKey } from '../queue/task-key.js';
import { FreeRuns } from './free-runs.js';
import { GuardedRuns } from './guarded-runs.js';

const task = { nodeGroup: 'g', taskId: 't' };
const run = (seq: number, guarded: boolean): GuardedRun => ({ seq, id: `run ${seq}`, nodeGroup: 'g', taskKey: runKey('t', guarded, seq), stands: 'active', dueAt: seq });

/** What was made without a limit is found in the store, `failures` reads of which fail first. */
function start(stored: GuardedRun[], failures = 0) {
  const groups = new OwnedGroups(100);
  groups.adopt({ partition: 0, epoch: 1 }, { groups: [], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } });
  const owned = groups.partitions.get(0);
  if (owned === undefined) throw new Error('not owned');
  const guarded = new GuardedRuns(() => undefined);
  const clock = new VirtualClock(1_000);
  let left = failures;
  const readFreeRuns = async (_group: string, _task: string, limit: number) => {
    if (left-- > 0) throw new LtsError('STORE_FAILED', 'not now');
    return stored.slice(0, limit);
  };
  const free = new FreeRuns({ groups, guarded, store: { readFreeRuns }, clock, log: silentLogger });
  const count = () => new Promise<boolean>((resolve) => free.count(owned, task, resolve));
  return { groups, guarded, clock, free, count };
}

describe('runs from when a schedule had no limit', () => {
  it('may be there when a schedule was changed and they were not counted since', async () => {
    const { guarded, free, count } = start([run(1, false)]);
    guarded.load(0, [run(2, true)]);
    expect([free.mayBe({ ...task, version: 1 }), free.mayBe({ ...task, version: 2 })]).toEqual([false, true]);
    expect(await count()).toBe(true);
    expect(free.mayBe({ ...task, version: 2 })).toBe(false);
    expect(guarded.find('g', 't')?.runs.map(({ id }) => id)).toEqual(['run 2', 'run 1']);
    guarded.replaced('g', 't');
    expect(free.mayBe({ ...task, version: 3 })).toBe(true);
    await count();
    expect(guarded.find('g', 't')?.runs).toHaveLength(2);
  });

  it('are looked for again when those that were kept have ended', async () => {
    const { guarded, free, count } = start(Array.from({ length: 1_001 }, (_, i) => run(i + 1, false)));
    guarded.load(0, [run(2_000, true)]);
    await count();
    for (let seq = 1; seq < 1_000; seq++) guarded.ended(`run ${seq}`);
    expect(free.mayBe({ ...task, version: 2 })).toBe(false);
    guarded.ended('run 1000');
    expect(free.mayBe({ ...task, version: 2 })).toBe(true);
  });

  it('are counted when the store answers again, and not when the partition was lost meanwhile', async () => {
    const { groups, guarded, clock, count } = start([run(1, false)], 2);
    const counted = count();
    await clock.advance(500);
    await clock.advance(500);
    expect(await counted).toBe(true);
    expect(guarded.find('g', 't')?.runs).toHaveLength(1);
    guarded.drop(0);
    const late = count();
    groups.drop(0);
    expect(await late).toBe(false);
    expect(guarded.find('g', 't')).toBeUndefined();
  });
});
