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
 * What a node makes of the GroupMaster frames that it gets. It is master only for the lease, which counts from a time
 * that the node itself has told and the tracker had heard by its choice, not from the arrival: a frame may have been on
 * its way for long, or lain there while this process stood still. So a node that its trackers do not hear any more stops
 * being master before another one is chosen. Frames with a smaller token come from a tracker that does not know yet
 * that it is no owner any more.
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

  /** Who it is, as far as is known now. */
  get mastership(): Mastership {
    return this.#known.master && this.token === 0 ? { master: false, nodeId: '', token: this.#known.token } : this.#known;
  }

  /** The time of this node, as trackers are told it and bring it back. */
  get time(): number {
    return Math.max(Math.floor(this.#clock.monotonic()), 1);
  }

  /** A tracker said who it is. */
  heard({ self, node_id: nodeId, token, lease, heard }: GroupMaster__Output): void {
    if (this.#closed) return;
    // One token is one choice: what another stream of this node says with it is about another stream.
    if (token < this.#known.token || (token === this.#known.token && this.#known.master && !self)) return;
    this.#timer?.cancel();
    if (self) return this.#hold(nodeId, token, heard, lease);
    this.#until = 0;
    this.#change({ master: false, nodeId, token });
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

  #hold(nodeId: string, token: number, heard: number, leaseMs: number): void {
    const now = this.#clock.monotonic();
    // Frames of several streams come in any order: an earlier one takes nothing back.
    this.#until = Math.max(this.#until, (heard > 0 ? Math.min(heard, now) : now) + leaseMs);
    if (this.#until <= now) return this.#change({ master: false, nodeId: '', token });
    this.#timer = this.#clock.after(this.#until - now, () => this.#end(), { unref: true });
    this.#change({ master: true, nodeId, token });
  }

  #change(next: Mastership): void {
    const { master, nodeId, token } = this.#known;
    if (master === next.master && nodeId === next.nodeId && token === next.token) return;
    this.#known = next;
    this.#onChange(next);
  }
}
