import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { WorkerDirectory } from '../dispatch/worker-directory.js';
import type { Execution, OwnedGroups } from '../queue/owned-groups.js';
import type { QueueStore } from '../queue/queue-store.js';
import type { Repairs } from './repairs.js';
import { Suspicions } from './suspicions.js';

/** Rows of one look. */
const pageRows = 500;

/**
 * Attempts that a worker has, by the store and by memory: a look reads the next page of one partition. What the store
 * alone knows is adopted: its worker is asked, or its grace time begins. What memory alone knows is dropped.
 */
export class ExecutingCheck {
  readonly #groups: OwnedGroups;
  readonly #workers: WorkerDirectory;
  readonly #dispatcher: Dispatcher;
  readonly #store: Pick<QueueStore, 'readExecuting'>;
  readonly #repairs: Repairs;
  readonly #suspicions = new Suspicions();
  #after = 0;

  constructor(groups: OwnedGroups, workers: WorkerDirectory, dispatcher: Dispatcher, store: Pick<QueueStore, 'readExecuting'>, repairs: Repairs) {
    this.#groups = groups;
    this.#workers = workers;
    this.#dispatcher = dispatcher;
    this.#store = store;
    this.#repairs = repairs;
  }

  /** One page; true when the partition is through. */
  async look(partition: number): Promise<boolean> {
    const epoch = this.#groups.partitions.get(partition)?.epoch;
    const rows = await this.#store.readExecuting(partition, this.#after, pageRows);
    // Loaded anew meanwhile: memory is fresh, and what was read may be older.
    if (epoch === undefined || this.#groups.partitions.get(partition)?.epoch !== epoch) return this.#through();
    const last = rows.length < pageRows ? Number.POSITIVE_INFINITY : (rows.at(-1)?.seq ?? 0);
    const stored = new Map(rows.map((row) => [row.id, row]));
    for (const execution of this.#groups.executions.values()) {
      const { id, seq, attempt } = execution;
      if (execution.partition !== partition || seq <= this.#after || seq > last || stored.get(id)?.attempt === attempt) continue;
      this.#suspicions.raise(`drop ${id} ${attempt}`, () => {
        this.#drop(execution);
        this.#repairs.note('EXECUTION_DROPPED', { instanceId: id, attempt, worker: execution.worker.nodeId });
      });
    }
    for (const row of rows) {
      if (this.#groups.executions.get(row.id)?.attempt === row.attempt) continue;
      this.#suspicions.raise(`adopt ${row.id} ${row.attempt}`, () => {
        this.#workers.adopt(row, partition);
        this.#repairs.note('EXECUTION_ADOPTED', { instanceId: row.id, attempt: row.attempt, worker: row.worker.nodeId });
      });
    }
    // What looks wrong is looked at once more before the next page.
    if (this.#suspicions.judge()) return false;
    if (last === Number.POSITIVE_INFINITY) return this.#through();
    this.#after = last;
    return false;
  }

  #drop(execution: Execution): void {
    const { id, nodeGroup, partition } = execution;
    const group = this.#groups.group(nodeGroup, partition);
    this.#groups.executions.delete(id);
    group.executing--;
    this.#workers.cancel(execution);
    this.#workers.ended(execution);
    this.#dispatcher.dispatch(group);
  }

  #through(): boolean {
    this.#after = 0;
    this.#suspicions.clear();
    return true;
  }
}
