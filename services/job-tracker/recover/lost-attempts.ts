import type { Logger } from '../../../shared/log/logger.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { AttemptSettlement } from '../complete/settle-attempt.js';
import type { WorkerDirectory } from '../dispatch/worker-directory.js';
import type { AttemptOutcome } from '../queue/instance-state.js';
import type { Execution, OwnedGroups } from '../queue/owned-groups.js';

const retryMs = 1_000;
/** A worker tells a time-out itself; only when it has not for so long does the owner. */
const overdueMs = 30_000;

/** Ends attempts that no worker will end: nothing runs for ever. */
export class LostAttempts {
  readonly #groups: OwnedGroups;
  readonly #settlement: AttemptSettlement;
  readonly #workers: WorkerDirectory;
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(groups: OwnedGroups, settlement: AttemptSettlement, workers: WorkerDirectory, clock: Clock, log: Logger) {
    this.#groups = groups;
    this.#settlement = settlement;
    this.#workers = workers;
    this.#clock = clock;
    this.#log = log;
  }

  /** Its worker is gone: a new attempt, or the end. */
  lost(execution: Execution): void {
    this.#log.warn('run.lost', { instanceId: execution.id, attempt: execution.attempt, worker: execution.worker.nodeId });
    this.#end(execution, 'LOST', `worker ${execution.worker.nodeId} (${execution.worker.incarnation}) was lost`);
  }

  /** Another worker of the group holds the FailStore of these, and all that they had finished is settled: the rest is lost. */
  ended(group: string, incarnations: readonly string[]): void {
    for (const incarnation of incarnations) {
      const worker = this.#workers.find({ nodeId: '', incarnation });
      if (worker === undefined || worker.group !== group || worker.session !== undefined) continue;
      for (const execution of [...worker.executions]) if (!execution.finishing) this.lost(execution);
    }
  }

  /** It never began: owed again, no retry and no loss is counted. */
  unstarted(execution: Execution): void {
    this.#end(execution, 'INTERRUPTED', `worker ${execution.worker.nodeId} left before it began`, true);
  }

  /** Ends attempts that are far beyond their time-out. To be called about every second. */
  sweep(): void {
    const now = this.#clock.now();
    for (const execution of this.#groups.executions.values()) {
      const { timeoutMs } = execution.policy;
      if (timeoutMs === 0 || execution.finishing || now < execution.assignedAt + timeoutMs + overdueMs) continue;
      this.#end(execution, 'EXCEPTION', `timed out after ${timeoutMs} ms; worker ${execution.worker.nodeId} did not report`);
      this.#workers.cancel(execution);
    }
  }

  #end(execution: Execution, outcome: AttemptOutcome, message: string, neverBegan = false): void {
    this.#settlement.finish(execution, { outcome, message, truncated: false, startedAt: 0 }, { neverBegan }, (_applied, error) => {
      if (error === undefined) return;
      this.#clock.after(retryMs, () => {
        if (this.#groups.executions.get(execution.id) === execution && !execution.finishing) this.#end(execution, outcome, message, neverBegan);
      }, { unref: true });
    });
  }
}
