import { type Process, Queue, type Scheduler } from '../scheduler.js';
import type { Links } from './links.js';

/**
 * One direction of a connection: what is sent arrives in its order, or never. While the link is blocked it waits here,
 * as it does in the buffers of both sides.
 */
export class Pipe<T> {
  readonly #scheduler: Scheduler;
  readonly #links: Links;
  readonly #from: Process;
  readonly #to: Process;
  readonly #take: (item: T) => void;
  readonly #backlog: { item: T; what: string }[] = [];
  readonly #arrivals: Queue;
  #unwatch: (() => void) | undefined;
  /** Sent and not taken. */
  pending = 0;

  constructor(scheduler: Scheduler, links: Links, from: Process, to: Process, take: (item: T) => void) {
    this.#scheduler = scheduler;
    this.#links = links;
    this.#from = from;
    this.#to = to;
    this.#take = take;
    this.#arrivals = new Queue(scheduler);
  }

  get blocked(): boolean {
    return this.#links.blocked(this.#from.host, this.#to.host);
  }

  send(item: T, what: string): void {
    this.pending++;
    this.#backlog.push({ item, what });
    if (this.blocked) this.#unwatch ??= this.#links.onFree(this.#from.host, this.#to.host, () => this.#flush());
    else if (this.#unwatch === undefined) this.#flush();
  }

  close(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#backlog.length = 0;
  }

  #flush(): void {
    // A link that was blocked is tried again by the side that sends, after a pause that has grown meanwhile.
    const again = this.#unwatch === undefined ? 0 : this.#scheduler.random.between(0, 400);
    this.#unwatch?.();
    this.#unwatch = undefined;
    for (const { item, what } of this.#backlog.splice(0)) {
      this.#arrivals.after(again + this.#links.latencyMs(), what, () => {
        this.pending--;
        this.#take(item);
      }, this.#to);
    }
  }
}
