import type { GroupMaster__Output } from '../grpc/generated/lts/v1/GroupMaster.js';
import type { Clock, Timer } from '../time/clock.js';

/** Who the master of a group is, as one of its nodes sees it. */
export interface Mastership {
  /** Whether it is this node. */
  master: boolean;
  /** The node that is it; empty when that is not known. */
  nodeId: string;
  /** Grows with every change: store it with what the master writes, and refuse smaller ones. */
  token: number;
}

/** Called at each change. */
export type MasterListener = (mastership: Mastership) => void;

/**
 * What a node makes of the GroupMaster frames that it gets. It is master only as long as it was told so within the
 * lease: a node that its trackers do not hear any more stops being master before another one is chosen. Frames with a
 * smaller token come from a tracker that does not know yet that it is no owner any more.
 */
export class MasterLease {
  readonly #clock: Clock;
  readonly #onChange: MasterListener;
  #known: Mastership = { master: false, nodeId: '', token: 0 };
  #until = 0;
  #timer: Timer | undefined;
  #closed = false;

  constructor(clock: Clock, onChange: MasterListener) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** The token under which this node is master now; 0: it is not. */
  get token(): number {
    return this.#known.master && this.#clock.monotonic() < this.#until ? this.#known.token : 0;
  }

  /** A tracker said who it is. */
  heard({ self, node_id: nodeId, token, lease }: GroupMaster__Output): void {
    if (this.#closed) return;
    // One token is one choice: what another stream of this node says with it is about another stream.
    if (token < this.#known.token || (token === this.#known.token && this.#known.master && !self)) return;
    if (self) this.#hold(lease);
    else this.#timer?.cancel();
    this.#change({ master: self, nodeId, token });
  }

  /** The node leaves its group. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#end();
  }

  #end(): void {
    if (this.#known.master) this.#change({ master: false, nodeId: '', token: this.#known.token });
  }

  #hold(leaseMs: number): void {
    this.#until = this.#clock.monotonic() + leaseMs;
    this.#timer?.cancel();
    this.#timer = this.#clock.after(leaseMs, () => this.#end(), { unref: true });
  }

  #change(next: Mastership): void {
    const { master, nodeId, token } = this.#known;
    if (master === next.master && nodeId === next.nodeId && token === next.token) return;
    this.#known = next;
    this.#onChange(next);
  }
}
