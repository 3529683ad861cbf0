import type { ResultRefusal } from '../../../shared/grpc/generated/lts/v1/ResultRefusal.js';
import type { Results__Output } from '../../../shared/grpc/generated/lts/v1/Results.js';
import type { TaskResult__Output } from '../../../shared/grpc/generated/lts/v1/TaskResult.js';
import { isId } from '../../../shared/ids.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { Worker } from '../dispatch/worker.js';
import type { WorkerDirectory } from '../dispatch/worker-directory.js';
import type { WorkerSession } from '../dispatch/worker-session.js';
import type { CommitPipeline } from '../queue/commit-pipeline.js';
import type { AttemptOutcome } from '../queue/instance-state.js';
import type { Execution, OwnedGroups } from '../queue/owned-groups.js';
import type { LostAttempts } from '../recover/lost-attempts.js';
import type { AttemptEnd, LateOutcome } from '../queue/queue-store.js';
import { storable, storableTime } from './storable.js';
import type { AttemptSettlement } from './settle-attempt.js';

const longestMessage = 64 * 1024;
/** What a worker may say. LOST is not for workers; an outcome that this version does not know counts as an exception. */
const outcomes: ReadonlyMap<unknown, AttemptOutcome> = new Map(
  (['SUCCESS', 'FAILED', 'LATER', 'EXCEPTION', 'CANCELLED', 'INTERRUPTED'] as const).map((outcome) => [`ATTEMPT_OUTCOME_${outcome}`, outcome]),
);

/** Step 5: results come in. Each frame is acked once all of its results are stored or refused. */
export class ResultIntake {
  readonly #groups: OwnedGroups;
  readonly #pipeline: CommitPipeline;
  readonly #settlement: AttemptSettlement;
  readonly #workers: WorkerDirectory;
  readonly #lost: LostAttempts;
  readonly #log: Logger;

  constructor(groups: OwnedGroups, pipeline: CommitPipeline, settlement: AttemptSettlement, workers: WorkerDirectory, lost: LostAttempts, log: Logger) {
    this.#groups = groups;
    this.#pipeline = pipeline;
    this.#settlement = settlement;
    this.#workers = workers;
    this.#lost = lost;
    this.#log = log;
  }

  take(worker: Worker, session: WorkerSession, frame: Results__Output): void {
    const refusals: ResultRefusal[] = [];
    const count = frame.results.length;
    let left = count;
    session.received(count);
    this.#workers.noteEnded(worker, frame.predecessors);
    const settle = (result: TaskResult__Output, reason?: ResultRefusal['reason']): void => {
      if (reason !== undefined) refusals.push({ instance_id: result.instance_id, attempt: result.attempt, reason });
      if (--left > 0) return;
      session.ack({ sequence: frame.sequence, refusals }, count);
      this.#workers.touched(session);
    };
    if (left === 0) session.ack({ sequence: frame.sequence, refusals }, count);
    this.#lost.ended(worker.group, frame.ended);
    for (const result of frame.results) this.#takeOne(worker, result, (reason) => settle(result, reason));
    this.#workers.touched(session);
    // Nothing of the frame waits for the store: no commit will come that writes the ack.
    if (left === 0) session.flush();
  }

  #takeOne(worker: Worker, result: TaskResult__Output, settle: (reason?: ResultRefusal['reason']) => void): void {
    const { instance_id: id } = result;
    const partition = this.#groups.partitionOf(worker.group);
    if (!this.#groups.partitions.has(partition)) return settle('REFUSAL_REASON_LOADING');
    const execution = this.#groups.executions.get(id);
    if (execution === undefined || !isCurrent(execution, result)) return this.#late(worker, partition, result, settle);
    const speaks = this.#workers.speaksFor(worker, execution);
    if (speaks === 'no') return settle('REFUSAL_REASON_UNKNOWN');
    if (speaks === 'later' || execution.finishing) return settle('REFUSAL_REASON_LOADING');
    this.#settlement.finish(execution, endOf(result), { retryAt: this.#workers.clocks.retryAt(worker, result), neverBegan: neverBegan(result) }, (applied, error) => {
      if (error !== undefined) settle(error.reason === 'NOT_OWNER' ? 'REFUSAL_REASON_NOT_OWNER' : 'REFUSAL_REASON_LOADING');
      else if (applied) settle();
      else this.#late(worker, partition, result, settle);
    });
  }

  /** The attempt is over, or was never known: the result is recorded beside it and changes nothing. */
  #late(worker: Worker, partition: number, result: TaskResult__Output, settle: (reason?: ResultRefusal['reason']) => void): void {
    const { instance_id: id, attempt } = result;
    if (!isId(id)) return settle('REFUSAL_REASON_UNKNOWN');
    const { outcome, message } = endOf(result);
    this.#pipeline.add({ kind: 'late', partition, id, attempt, outcome, message }, (stored, error) => {
      if (error !== undefined) return settle(error.reason === 'NOT_OWNER' ? 'REFUSAL_REASON_NOT_OWNER' : 'REFUSAL_REASON_LOADING');
      const { known } = stored as LateOutcome;
      if (known) this.#log.info('run.late', { instanceId: id, attempt, outcome });
      settle(known ? 'REFUSAL_REASON_STALE' : 'REFUSAL_REASON_UNKNOWN');
    }, undefined, worker.group);
  }
}

/** Fence: only the current attempt of the incarnation that has it can end it. */
function isCurrent(execution: Execution, result: TaskResult__Output): boolean {
  return execution.attempt === result.attempt && execution.worker.incarnation === result.incarnation;
}

/** A worker that is about to leave sends back what it has not begun, with no start. */
function neverBegan(result: TaskResult__Output): boolean {
  return result.outcome === 'ATTEMPT_OUTCOME_INTERRUPTED' && result.started_at === 0;
}

function endOf(result: TaskResult__Output): AttemptEnd {
  const tooLong = Buffer.byteLength(result.message) > longestMessage;
  return {
    outcome: outcomes.get(result.outcome) ?? 'EXCEPTION',
    message: storable(tooLong ? cut(result.message) : result.message),
    truncated: result.truncated || tooLong,
    startedAt: storableTime(result.started_at),
  };
}

function cut(text: string): string {
  return `${Buffer.from(text).subarray(0, longestMessage - 32).toString('utf8').replace(/\uFFFD+$/, '')}… [truncated]`;
}
