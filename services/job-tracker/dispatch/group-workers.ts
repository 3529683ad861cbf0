import type { Worker } from './worker.js';

/** The workers of one group, taken in turn. */
export class GroupWorkers {
  readonly all = new Set<Worker>();
  #order: Worker[] = [];
  #next = 0;

  /** Whether some worker runs some types only. */
  selective = false;

  add(worker: Worker): void {
    this.all.add(worker);
    this.changed();
  }

  remove(worker: Worker): void {
    this.all.delete(worker);
    this.changed();
  }

  /** To be called when the types of a worker have changed. */
  changed(): void {
    this.#order = [...this.all];
    this.selective = this.#order.some((worker) => worker.types.size > 0);
  }

  /** A worker with a free slot that runs the type, if there is one; "" asks for any type. */
  peek(type: string): Worker | undefined {
    return this.#find(type)?.worker;
  }

  /** The same, in turn: the next call begins behind it. */
  take(type: string): Worker | undefined {
    const found = this.#find(type);
    if (found === undefined) return undefined;
    this.#next = found.index + 1;
    return found.worker;
  }

  /** Whether any connected worker that is not drained runs the type, free or not. */
  canRun(type: string): boolean {
    return this.#order.some((worker) => worker.available && worker.runs(type));
  }

  #find(type: string): { worker: Worker; index: number } | undefined {
    const count = this.#order.length;
    for (let step = 0; step < count; step++) {
      const index = (this.#next + step) % count;
      const worker = this.#order[index] as Worker;
      if (worker.credits > 0 && (!this.selective || type === '' || worker.runs(type))) return { worker, index };
    }
    return undefined;
  }
}
