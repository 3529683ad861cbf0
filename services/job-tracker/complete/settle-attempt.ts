import type { LtsError } from '../../../shared/errors/lts-error.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { WorkerDirectory } from '../dispatch/worker-directory.js';
import type { FeedbackDelivery } from '../feedback/feedback-delivery.js';
import type { CommitPipeline } from '../queue/commit-pipeline.js';
import type { Execution, OwnedGroups } from '../queue/owned-groups.js';
import type { AttemptEnd, CancelOutcome, Finish, FinishOutcome } from '../queue/queue-store.js';
import type { DueTimer } from '../schedule/due-timer.js';
import { decide, type EndHints } from './decide.js';

/** Called once the end is stored (applied), was not the current attempt's (not applied), or could not be stored. */
export type Settled = (applied: boolean, error?: LtsError) => void;

/** Who keeps account of runs of schedules. Other instances are none of its business: it does not know their ids. */
export interface RunWatcher {
  /** It has ended for good. */
  ended(id: string): void;
  /** It waits for its retry. */
  waits(id: string): void;
}

/**
 * Step 5 for one attempt, whoever ended it: decide → persist → follow up. One commit holds the attempt's record, the
 * instance's end or retry, the result that is owed and the next run of the same task.
 */
export class AttemptSettlement {
  readonly #groups: OwnedGroups;
  readonly #workers: WorkerDirectory;
  readonly #pipeline: CommitPipeline;
  readonly #dispatcher: Dispatcher;
  readonly #dueTimer: DueTimer;
  readonly #feedback: FeedbackDelivery;
  readonly #runs: RunWatcher;
  readonly #clock: Clock;

  constructor(parts: {
    groups: OwnedGroups;
    workers: WorkerDirectory;
    pipeline: CommitPipeline;
    dispatcher: Dispatcher;
    dueTimer: DueTimer;
    feedback: FeedbackDelivery;
    runs: RunWatcher;
    clock: Clock;
  }) {
    this.#groups = parts.groups;
    this.#workers = parts.workers;
    this.#pipeline = parts.pipeline;
    this.#dispatcher = parts.dispatcher;
    this.#dueTimer = parts.dueTimer;
    this.#feedback = parts.feedback;
    this.#runs = parts.runs;
    this.#clock = parts.clock;
  }

  /** Ends the attempt. The caller has made sure that it is the current one and that nothing else is ending it. */
  finish(execution: Execution, end: AttemptEnd, hints: EndHints, settled: Settled): void {
    const at = this.#clock.now();
    const next = decide(execution, end.outcome, hints, at);
    const { partition, seq, attempt } = execution;
    execution.finishing = true;
    const stored = 'state' in next && next.state === 'CANCELLED' && execution.cancelReason !== '' ? { ...end, message: joined(execution.cancelReason, end.message) } : end;
    this.#pipeline.add({ kind: 'finish', partition, seq, attempt, end: stored, next, at }, (outcome, error) => {
      if (error !== undefined) {
        execution.finishing = false;
        return settled(false, error);
      }
      const finished = outcome as FinishOutcome;
      // A cancel was stored between the decision and its commit: it does not run again.
      if (!finished.applied && !('state' in next) && execution.cancelling) return this.finish(execution, end, hints, settled);
      if (finished.over && hints.over !== true) return this.finish(execution, end, { ...hints, over: true }, settled);
      if (finished.applied) this.#followUp(execution, next, finished);
      settled(finished.applied);
    }, undefined, execution.nodeGroup);
  }

  /** A cancel was stored: memory follows. `reason`: what the message of those that run shall begin with. */
  cancelled(nodeGroup: string, outcome: Pick<CancelOutcome, 'cancelled' | 'cancelling' | 'ready' | 'waitingUntil'>, reason = ''): void {
    const group = this.#groups.group(nodeGroup, this.#groups.partitionOf(nodeGroup));
    for (const { id, seq, placement, owedTo } of outcome.cancelled) {
      if (placement === 'ready') {
        group.readyCount--;
        group.ready.remove(seq);
      } else group.waiting--;
      if (owedTo !== undefined) this.#feedback.owed(owedTo);
      this.#runs.ended(id);
    }
    for (const { id } of outcome.cancelling) {
      const execution = this.#groups.executions.get(id);
      if (execution === undefined) continue;
      // The first one has ended it.
      if (!execution.cancelling) execution.cancelReason = reason;
      execution.cancelling = true;
      this.#workers.cancel(execution);
    }
    if (outcome.ready !== undefined) {
      group.waiting--;
      this.#dispatcher.enter(outcome.ready);
    }
    if (outcome.waitingUntil !== undefined) this.#dueTimer.dueAt(group.partition, outcome.waitingUntil);
  }

  #followUp(execution: Execution, next: Finish['next'], outcome: FinishOutcome): void {
    const group = this.#groups.group(execution.nodeGroup, execution.partition);
    this.#groups.executions.delete(execution.id);
    this.#workers.ended(execution);
    group.executing--;
    if (outcome.owedTo !== undefined) this.#feedback.owed(outcome.owedTo);
    const again = !('state' in next);
    if (!again) this.#runs.ended(execution.id);
    else if (outcome.ready === undefined) this.#runs.waits(execution.id);
    if (outcome.waitingUntil !== undefined) {
      if (again) group.waiting++;
      this.#dueTimer.dueAt(group.partition, outcome.waitingUntil);
    }
    if (outcome.ready !== undefined) {
      if (!again) group.waiting--;
      this.#dispatcher.enter(outcome.ready);
    }
    if (group.gate.limits.maxRunning !== undefined) this.#dispatcher.dispatch(group);
  }
}

function joined(reason: string, message: string): string {
  return message === '' ? reason : `${reason}; ${message}`;
}
