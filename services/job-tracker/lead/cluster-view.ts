import type { ClusterMap } from '../../../shared/grpc/generated/lts/v1/ClusterMap.js';
import type { Assignment } from './assign.js';

/** The newest assignment that this tracker knows, as clients and workers see it. */
export class ClusterView {
  #assignment: Assignment | undefined;
  #version = 0;
  #stale = false;
  readonly #listeners = new Set<() => void>();
  /** Versions of the time zone rules of the registered trackers, by incarnation. Whose are not known is not there. */
  tzdata: ReadonlyMap<string, string> = new Map();

  /** Takes an assignment with the version of its document. */
  update(assignment: Assignment, version: number): void {
    this.#assignment = assignment;
    this.#version = version;
    for (const listener of this.#listeners) listener();
  }

  /** Whether the map may be out of date without this tracker noticing: it is not shown to others then. */
  get stale(): boolean {
    return this.#stale;
  }

  /** Whoever neither hears the registry nor owns anything does not know who does. */
  judge(hearsRegistry: boolean, ownsAny: boolean): void {
    const stale = this.#version > 0 && !hearsRegistry && !ownsAny;
    if (stale === this.#stale) return;
    this.#stale = stale;
    for (const listener of this.#listeners) listener();
  }

  get assignment(): Assignment | undefined {
    return this.#assignment;
  }

  /** host:port of the owner of a partition; "" while there is none. */
  ownerOf(partition: number): string {
    const nodeId = this.#assignment?.owners[partition];
    return this.#assignment?.trackers.find((tracker) => tracker.nodeId === nodeId)?.address ?? '';
  }

  /** host:port of the trackers other than this one that own something. */
  ownersBeside(nodeId: string): string[] {
    const { trackers = [], owners = [] } = this.#assignment ?? {};
    const owning = new Set(owners);
    return trackers.filter((tracker) => tracker.nodeId !== nodeId && owning.has(tracker.nodeId)).map(({ address }) => address);
  }

  get map(): ClusterMap {
    const { leader, trackers = [], owners = [] } = this.#assignment ?? {};
    return {
      version: this.#version,
      partitions: owners.length,
      trackers: trackers.map(({ nodeId, address }) => ({ node_id: nodeId, address, leader: nodeId === leader?.nodeId })),
      owners: owners.flatMap((nodeId, partition) => (nodeId === '' ? [] : [{ partition, node_id: nodeId }])),
    };
  }

  /** Calls at each newer map and each change of `stale` until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
