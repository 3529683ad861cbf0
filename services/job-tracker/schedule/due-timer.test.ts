import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { CommitPipeline } from '../queue/commit-pipeline.js';
import { OwnedGroups } from '../queue/owned-groups.js';
import type { Promote } from '../queue/queue-store.js';
import { DueTimer } from './due-timer.js';

const hour = 3_600_000;

/** A timer over one partition; what it promotes is gone. */
class Bench {
  readonly clock = new VirtualClock();
  readonly promotedAt: number[] = [];
  readonly timer: DueTimer;

  constructor() {
    const groups = new OwnedGroups(1_000);
    groups.adopt({ partition: 0, epoch: 1 }, { groups: [], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } });
    const pipeline = {
      add: ({ now }: Promote, settle: (outcome: unknown, error: undefined) => void) => {
        this.promotedAt.push(now);
        settle({ kind: 'promote', ready: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } }, undefined);
      },
    } as unknown as CommitPipeline;
    this.timer = new DueTimer(groups, pipeline, {} as Dispatcher, { goes: () => undefined }, this.clock);
  }
}

describe('DueTimer', () => {
  it('promotes at the due time, once', async () => {
    const { clock, timer, promotedAt } = new Bench();
    const due = clock.now() + 2_500;
    timer.dueAt(0, due);
    await clock.advance(2_499);
    expect(promotedAt).toEqual([]);
    await clock.advance(1);
    expect(promotedAt).toEqual([due]);
    await clock.advance(10_000);
    expect(promotedAt).toHaveLength(1);
  });

  it('promotes within a second of a jump beyond the due time', async () => {
    const { clock, timer, promotedAt } = new Bench();
    timer.dueAt(0, clock.now() + hour);
    await clock.advance(5_000);
    clock.step(hour);
    await clock.advance(1_000);
    expect(promotedAt).toHaveLength(1);
  });

  it('promotes nothing early, and nothing twice, when the clock jumps back', async () => {
    const { clock, timer, promotedAt } = new Bench();
    const due = clock.now() + 2_000;
    timer.dueAt(0, due);
    await clock.advance(1_500);
    clock.step(-hour);
    await clock.advance(hour);
    expect(promotedAt).toEqual([]);
    await clock.advance(500);
    expect(promotedAt).toEqual([due]);
  });

  it('keeps nothing waiting for a timer that was armed before a jump', async () => {
    const { clock, timer, promotedAt } = new Bench();
    timer.dueAt(0, clock.now() + 5 * hour);
    clock.step(hour);
    timer.dueAt(0, clock.now() + 300);
    await clock.advance(300);
    expect(promotedAt).toHaveLength(1);
  });
});
