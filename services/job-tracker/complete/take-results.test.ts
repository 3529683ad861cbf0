import { describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../../test/kit/virtual-clock.js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import type { Results__Output } from '../../../shared/grpc/generated/lts/v1/Results.js';
import type { ResultsAck } from '../../../shared/grpc/generated/lts/v1/ResultsAck.js';
import { newId } from '../../../shared/ids.js';
import { silentLogger } from '../../../shared/log/logger.js';
import type { Worker } from '../dispatch/worker.js';
import type { WorkerDirectory } from '../dispatch/worker-directory.js';
import type { WorkerSession } from '../dispatch/worker-session.js';
import { CommitFailed } from '../queue/commit-failed.js';
import { CommitPipeline } from '../queue/commit-pipeline.js';
import { OwnedGroups } from '../queue/owned-groups.js';
import type { Outcome, QueueStore } from '../queue/queue-store.js';
import type { LostAttempts } from '../recover/lost-attempts.js';
import type { AttemptSettlement } from './settle-attempt.js';
import { ResultIntake } from './take-results.js';

/** What a result of an attempt that is not in memory is answered: the reason, once the store has answered so. */
async function answer({ loaded, commit }: { loaded: boolean; commit: () => Promise<Outcome[]> }): Promise<{ before: unknown; after: unknown }> {
  const nothing = (): void => undefined;
  const groups = new OwnedGroups(1_000);
  if (loaded) groups.adopt({ partition: 0, epoch: 1 }, { groups: [], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } });
  const hold: { go: () => void } = { go: nothing };
  const held = new Promise<void>((resolve) => (hold.go = resolve));
  const store = { commit: () => held.then(commit), fenced: () => Promise.resolve([0]) } as unknown as QueueStore;
  const events = { epochOf: () => 1, notOwning: () => new LtsError('NOT_OWNER', ''), onUnknown: nothing, onFenced: nothing, onRolledBack: nothing, onCommitted: nothing };
  const acks: ResultsAck[] = [];
  const session = { received: nothing, ack: (ack: ResultsAck) => acks.push(ack), flush: nothing } as unknown as WorkerSession;
  const workers = { touched: nothing, noteEnded: nothing } as unknown as WorkerDirectory;
  const lost = { ended: nothing } as unknown as LostAttempts;
  const intake = new ResultIntake(groups, new CommitPipeline(store, events, new VirtualClock()), {} as AttemptSettlement, workers, lost, silentLogger);
  const result = { instance_id: newId(), attempt: 1, incarnation: 'i', outcome: 'ATTEMPT_OUTCOME_SUCCESS', message: '', truncated: false, started_at: 0 };
  intake.take({ group: 'g' } as Worker, session, { sequence: 1, results: [result], predecessors: [], ended: [] } as unknown as Results__Output);
  await settle();
  const reasons = (): unknown => acks.flatMap(({ refusals }) => refusals?.map(({ reason }) => reason));
  const before = reasons();
  hold.go();
  await settle();
  return { before, after: reasons() };
}

describe('the result of an attempt that is not in memory', () => {
  it('is STALE only once a commit under the current epoch has found the attempt', async () => {
    const found = await answer({ loaded: true, commit: () => Promise.resolve([{ kind: 'late', known: true }]) });
    expect(found).toEqual({ before: [], after: ['REFUSAL_REASON_STALE'] });
  });

  it('is UNKNOWN when that commit has not found it', async () => {
    const unknown = await answer({ loaded: true, commit: () => Promise.resolve([{ kind: 'late', known: false }]) });
    expect(unknown).toEqual({ before: [], after: ['REFUSAL_REASON_UNKNOWN'] });
  });

  it('is kept by the worker when another owner has the partition', async () => {
    const fenced = await answer({ loaded: true, commit: () => Promise.reject(new CommitFailed('STALE_EPOCH', 'another owner', true)) });
    expect(fenced).toEqual({ before: [], after: ['REFUSAL_REASON_NOT_OWNER'] });
  });

  it('is kept by the worker while the partition is not loaded', async () => {
    const loading = await answer({ loaded: false, commit: () => Promise.resolve([]) });
    expect(loading.before).toEqual(['REFUSAL_REASON_LOADING']);
  });
});
