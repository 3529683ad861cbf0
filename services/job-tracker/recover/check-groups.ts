import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { GroupQueue, OwnedGroups } from '../queue/owned-groups.js';
import type { QueueStore } from '../queue/queue-store.js';
import type { Repairs } from './repairs.js';
import { Suspicions } from './suspicions.js';

/** Larger counts are not checked: the store would have to read too much at once. A take-over counts them anew. */
const mostCounted = 20_000;

/** The counts of a group and its ready rows, by the store and by memory: a look recounts one group. */
export class GroupCheck {
  readonly #groups: OwnedGroups;
  readonly #dispatcher: Dispatcher;
  readonly #store: Pick<QueueStore, 'recount'>;
  readonly #repairs: Repairs;
  readonly #suspicions = new Suspicions();

  constructor(groups: OwnedGroups, dispatcher: Dispatcher, store: Pick<QueueStore, 'recount'>, repairs: Repairs) {
    this.#groups = groups;
    this.#dispatcher = dispatcher;
    this.#store = store;
    this.#repairs = repairs;
  }

  /** True when the group is through. */
  async look(group: GroupQueue): Promise<boolean> {
    const { name } = group;
    const counts = await this.#store.recount(name, mostCounted);
    if (this.#groups.groups.get(name) !== group) {
      this.#suspicions.clear();
      return true;
    }
    const waiting = (counts.waiting ?? group.waiting) - group.waiting;
    const ready = (counts.ready ?? group.readyCount) - group.readyCount;
    if (waiting !== 0) {
      this.#suspicions.raise(`waiting ${waiting}`, () => {
        group.waiting += waiting;
        this.#repairs.note('WAITING_COUNT', { group: name, by: waiting });
      });
    }
    if (ready !== 0) {
      this.#suspicions.raise(`ready ${ready}`, () => {
        group.readyCount += ready;
        this.#repairs.note('READY_COUNT', { group: name, by: ready });
        this.#readAgain(group);
      });
    }
    this.#checkMemory(group);
    return !this.#suspicions.judge();
  }

  #checkMemory(group: GroupQueue): void {
    const { name, ready, gate } = group;
    let executing = 0;
    for (const { nodeGroup } of this.#groups.executions.values()) if (nodeGroup === name) executing++;
    const more = executing - group.executing;
    if (more !== 0) {
      this.#suspicions.raise(`executing ${more}`, () => {
        group.executing += more;
        this.#repairs.note('EXECUTING_COUNT', { group: name, by: more });
        this.#dispatcher.dispatch(group);
      });
    }
    // Starts on their way have left the set and are counted as ready still; direct ones, too, were never in it.
    const missing = group.readyCount - ready.size - gate.starting;
    if (!ready.whole || group.refilling || missing <= 0 || this.#groups.hasHalted(name)) return;
    this.#suspicions.raise(`missing ${missing}`, () => {
      this.#repairs.note('READY_ROWS', { group: name, missing });
      this.#readAgain(group);
    });
  }

  #readAgain(group: GroupQueue): void {
    group.ready.reset();
    this.#dispatcher.dispatch(group);
  }
}
