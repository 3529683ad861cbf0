import { describe, expect, it } from 'vitest';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import type { AttemptSettlement } from '../complete/settle-attempt.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { CommitPipeline, Settle } from '../queue/commit-pipeline.js';
import { OwnedGroups, type OwnedPartition } from '../queue/owned-groups.js';
import type { CancelOutcome, EndRunsOutcome, LeftRuns, Transition } from '../queue/queue-store.js';
import { EndingRuns } from './ending-runs.js';

const left: LeftRuns = { nodeGroup: 'g', taskId: 't', by: 'delete' };

/** The partition is loaded with runs left to end; transitions wait for the test. */
function start() {
  const groups = new OwnedGroups(100);
  const load = (): OwnedPartition => {
    groups.adopt({ partition: 0, epoch: 1 }, { groups: [{ nodeGroup: 'g', waiting: 0, ready: 2, limits: undefined }], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [left] } });
    const owned = groups.partitions.get(0);
    if (owned === undefined) throw new Error('not owned');
    return owned;
  };
  const owned = load();
  const stored: { transition: Transition; settle: Settle }[] = [];
  const pipeline = { add: (transition: Transition, settle: Settle) => void stored.push({ transition, settle }) } as unknown as CommitPipeline;
  const ended: string[] = [];
  const settlement = { cancelled: (_group: string, { cancelled }: Pick<CancelOutcome, 'cancelled'>) => void ended.push(...cancelled.map(({ id }) => id)) } as unknown as AttemptSettlement;
  const clock = new VirtualClock(1_000);
  const ending = new EndingRuns({ groups, pipeline, dispatcher: { dispatch: () => undefined } as unknown as Dispatcher, settlement, clock });
  ending.adopted(0, [left]);
  /** The store answers the transition that was given last. */
  const answer = (seq: number, more: boolean): void => {
    const outcome: EndRunsOutcome = { kind: 'endRuns', cancelled: [{ id: `run ${seq}`, seq, placement: 'ready' }], left: more };
    stored.at(-1)?.settle(outcome, undefined);
  };
  return { groups, load, owned, stored, ended, clock, answer };
}

describe('runs that are left to end', () => {
  it('end one part after the other; their task goes on once there are none left', () => {
    const { groups, stored, ended, answer } = start();
    answer(1, true);
    expect([stored.length, ended, groups.isHalted('g', 't')]).toEqual([2, ['run 1'], true]);
    answer(2, false);
    expect([stored.length, ended, groups.isHalted('g', 't')]).toEqual([2, ['run 1', 'run 2'], false]);
  });

  it('are tried again when the store failed', async () => {
    const { groups, stored, clock } = start();
    stored[0]?.settle(undefined, new LtsError('STORE_FAILED', 'not now'));
    expect([stored.length, groups.isHalted('g', 't')]).toEqual([1, true]);
    await clock.advance(500);
    expect(stored).toHaveLength(2);
  });

  it('are followed by memory while their partition is about to be released; the rest is for its next owner', () => {
    const { groups, owned, stored, ended, answer } = start();
    owned.leaving = true;
    answer(1, true);
    expect([stored.length, ended, groups.isHalted('g', 't')]).toEqual([1, ['run 1'], false]);
  });

  it('are those that the load has told, when the partition was loaded anew meanwhile', () => {
    const { groups, load, stored, ended, answer } = start();
    load();
    answer(1, true);
    expect([stored.length, ended, groups.isHalted('g', 't')]).toEqual([1, [], false]);
  });
});
