import { describe, expect, it } from 'vitest';
import { encodeJob } from '../../../shared/grpc/job-codec.js';
import { newId } from '../../../shared/ids.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { Ownership } from '../lead/ownership.js';
import { Backlog } from '../queue/backlog.js';
import type { CommitPipeline } from '../queue/commit-pipeline.js';
import { OwnedGroups } from '../queue/owned-groups.js';
import type { DueTimer } from '../schedule/due-timer.js';
import { Admission } from './admission.js';
import type { DiskGuard } from './disk-guard.js';
import type { Enrollment } from './enrollment.js';

/** An admission before a pipeline that holds so much, all of it of group "flood". */
function open(pipeline: { depth: number; bytes: number }): { submit: (nodeGroup: string) => Promise<string | undefined>; groups: OwnedGroups } {
  const groups = new OwnedGroups(1_000);
  groups.adopt({ partition: 0, epoch: 1 }, { groups: [], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } });
  const nothing = (): void => undefined;
  let seq = 0;
  const admission = new Admission({
    groups,
    pipeline: {
      ...pipeline,
      isCrowdedBy: (nodeGroup: string) => nodeGroup === 'flood',
      add: (_transition: object, settle: (outcome: object) => void) => settle({ kind: 'admit', result: 'accepted', seq: ++seq, placement: 'ready' }),
    } as unknown as CommitPipeline,
    dispatcher: { reserve: nothing, dispatch: nothing, place: nothing } as unknown as Dispatcher,
    dueTimer: {} as DueTimer,
    ownership: { serving: true, require: () => 0 } as unknown as Ownership,
    disk: { requireRoom: nothing } as unknown as DiskGuard,
    enrollment: { toEnroll: nothing } as unknown as Enrollment,
    queries: { findInstance: () => Promise.resolve(undefined) },
    backlog: new Backlog(3),
    settings: { retentionMs: 1_000 },
    clock: new VirtualClock(),
    newId,
  });
  const submit = async (nodeGroup: string): Promise<string | undefined> => {
    try {
      const [result] = await admission.submit([encodeJob({ task_id: newId(), node_group: nodeGroup })], false);
      return result?.reason ?? String(result?.outcome);
    } catch (error) {
      return (error as { reason: string }).reason;
    }
  };
  return { submit, groups };
}

describe('Admission', () => {
  it.each([
    ['many changes', { depth: 60_000, bytes: 0 }],
    ['many bytes', { depth: 100, bytes: 100 * 1024 * 1024 }],
  ])('sends only those away that fill the pipeline with %s', async (_what, pipeline) => {
    const { submit } = open(pipeline);
    expect(await submit('flood')).toBe('TOO_MANY_CALLS');
    expect(await submit('small')).toBe('SUBMIT_OUTCOME_ACCEPTED');
  });

  it('sends all away when it is twice as full, and nobody while there is room', async () => {
    expect(await open({ depth: 100_001, bytes: 0 }).submit('small')).toBe('TOO_MANY_CALLS');
    expect(await open({ depth: 50_000, bytes: 64 * 1024 * 1024 }).submit('flood')).toBe('SUBMIT_OUTCOME_ACCEPTED');
  });

  it('takes the limit of the group for the one of the tracker', async () => {
    const { submit, groups } = open({ depth: 0, bytes: 0 });
    groups.limit(groups.group('limited', 0), { backlog: 1 });
    groups.limit(groups.group('held', 0), { backlog: 0 });
    const outcomes = async (nodeGroup: string): Promise<(string | undefined)[]> => [await submit(nodeGroup), await submit(nodeGroup), await submit(nodeGroup), await submit(nodeGroup)];
    expect((await outcomes('usual')).slice(2)).toEqual(['SUBMIT_OUTCOME_ACCEPTED', 'BACKLOG_FULL']);
    expect((await outcomes('limited')).slice(0, 2)).toEqual(['SUBMIT_OUTCOME_ACCEPTED', 'BACKLOG_FULL']);
    expect((await outcomes('held'))[0]).toBe('BACKLOG_FULL');
  });
});
