import type { Bounded, EndRuns, LeftRuns } from '../../services/job-tracker/queue/queue-store.js';
import { isByHand } from '../../services/job-tracker/queue/task-key.js';
import type { Instance } from './queue-store-reference.js';

/** What the model of ends needs of that of the instances. */
export interface Ends {
  /** Live runs of a task, by arrival. */
  runsOf(taskId: string): Instance[];
  endQueued(run: Instance, at: number): { freed: object };
}

/** The ends of the runs of a task, all at once or in parts. */
export class EndModel {
  readonly #ends: Ends;
  readonly #notes = new Map<string, { taskId: string; by: LeftRuns['by']; meant: Set<string>; nextKey: string }>();

  constructor(ends: Ends) {
    this.#ends = ends;
  }

  areTooMany(taskId: string, { bound }: Bounded): boolean {
    return bound !== undefined && !bound.halted && this.#ends.runsOf(taskId).length > bound.most;
  }

  stop(taskId: string, by: LeftRuns['by'], at: number, { bound }: Bounded): { cancelled: object[]; running: object[]; left?: true } {
    const all = this.#ends.runsOf(taskId);
    const running = all.filter((run) => runs(run) && !isSpared(by, run));
    for (const run of running) Object.assign(run, by === 'cancel' ? { state: 'CANCELLING' } : { last: true });
    const told = { running: running.map(({ id, attempts }) => ({ id, seq: id, attempt: attempts })) };
    if (bound === undefined || all.length <= bound.most) return { ...told, cancelled: this.#end(all, by, at) };
    // What is noted anew is noted last.
    this.#notes.delete(`${taskId} ${by}`);
    this.#notes.set(`${taskId} ${by}`, { taskId, by, meant: new Set(all.map(({ id }) => id)), nextKey: '' });
    const { cancelled, left } = this.goOn({ taskId, by, most: bound.most, at });
    return { ...told, cancelled, ...(left ? { left } : {}) };
  }

  goOn({ taskId, by, most, at }: Pick<EndRuns, 'taskId' | 'by' | 'most' | 'at'>): { cancelled: object[]; left: boolean } {
    const note = this.#notes.get(`${taskId} ${by}`);
    if (note === undefined) return { cancelled: [], left: false };
    const all = this.#ends.runsOf(taskId);
    const byKey = all.filter(({ key }) => key >= note.nextKey).toSorted((a, b) => (a.key < b.key ? -1 : 1));
    const [page, next] = [new Set(byKey.slice(0, most)), byKey[most]];
    const cancelled = this.#end(all.filter((run) => page.has(run) && note.meant.has(run.id)), by, at);
    if (next === undefined) this.#notes.delete(`${taskId} ${by}`);
    else note.nextKey = next.key;
    return { cancelled, left: next !== undefined };
  }

  /** In the order of a load. */
  left(): { taskId: string; by: LeftRuns['by'] }[] {
    return [...this.#notes.values()].map(({ taskId, by }) => ({ taskId, by }));
  }

  #end(all: readonly Instance[], by: LeftRuns['by'], at: number): object[] {
    return all
      .filter((run) => !runs(run) && !isSpared(by, run))
      .map((run) => {
        const { freed: _freed, ...cancelled } = this.#ends.endQueued(run, at);
        return cancelled;
      });
  }
}

function runs({ state }: Instance): boolean {
  return state === 'EXECUTING' || state === 'CANCELLING';
}

function isSpared(by: LeftRuns['by'], { key }: Instance): boolean {
  return by === 'suspend' && isByHand(key);
}
