import { LtsError } from '../../../shared/errors/lts-error.js';
import { quoted } from '../../../shared/errors/quoted.js';
import type { AssignedTracker } from './assign.js';
import { type DrainedNodes, isDrained, isLeaving } from './drained-nodes.js';

/** Whom a drain may be about. */
export interface DrainableNodes {
  trackers(): readonly AssignedTracker[];
  /** node ids of the workers that this tracker knows. */
  workers(): Iterable<string>;
}

/** Drains and undrains nodes by hand. Partitions stay with somebody: the last tracker is not drained. */
export class NodeDrain {
  readonly #drained: DrainedNodes;
  readonly #nodes: DrainableNodes;

  constructor(drained: DrainedNodes, nodes: DrainableNodes) {
    this.#drained = drained;
    this.#nodes = nodes;
  }

  /** Gives whether it was not drained before. Rejects with NOT_FOUND, LAST_TRACKER or REGISTRY_UNAVAILABLE. */
  async drain(nodeId: string): Promise<boolean> {
    check(nodeId);
    const trackers = this.#nodes.trackers();
    const known = [...new Set([...trackers.map((tracker) => tracker.nodeId), ...this.#nodes.workers()])];
    if (!known.includes(nodeId)) throw new LtsError('NOT_FOUND', `there is no tracker or worker ${quoted(nodeId)}; known are ${names(known)}`);
    const others = trackers.filter((tracker) => tracker.nodeId !== nodeId);
    return this.#drained.drain(nodeId, (already) => {
      const isTracker = others.length < trackers.length;
      if (!isTracker || others.some((tracker) => !isDrained(already, tracker.nodeId) && !isLeaving(already, tracker.incarnation))) return;
      throw new LtsError('LAST_TRACKER', `${quoted(nodeId)} is the last tracker that takes partitions; start another one, or undrain one, then drain it`);
    });
  }

  /** Gives whether it was drained before. Rejects with NOT_FOUND or REGISTRY_UNAVAILABLE. */
  async undrain(nodeId: string): Promise<boolean> {
    check(nodeId);
    const undrained = await this.#drained.undrain(nodeId);
    if (undrained || this.#nodes.trackers().some((tracker) => tracker.nodeId === nodeId) || [...this.#nodes.workers()].includes(nodeId)) return undrained;
    throw new LtsError('NOT_FOUND', `${quoted(nodeId)} is not drained; drained are ${names(this.#drained.byHand.map((node) => node.nodeId))}`);
  }

  /** Whether the drains of trackers are without effect, because nobody else is there. */
  get ignored(): boolean {
    const trackers = this.#nodes.trackers();
    return trackers.some(({ nodeId }) => this.#drained.has(nodeId)) && trackers.every(({ nodeId, incarnation }) => this.#drained.has(nodeId) || this.#drained.isLeaving(incarnation));
  }
}

const mostNamed = 50;

function names(ids: readonly string[]): string {
  if (ids.length === 0) return 'none';
  return `${ids.toSorted().slice(0, mostNamed).join(', ')}${ids.length > mostNamed ? ` and ${ids.length - mostNamed} more` : ''}`;
}

function check(nodeId: string): void {
  if (nodeId === '' || nodeId.length > 128 || nodeId.includes('\0')) throw new LtsError('INVALID_ARGUMENT', `node_id is ${quoted(nodeId)}; use the id that lts node list shows, 1 to 128 characters`);
}
