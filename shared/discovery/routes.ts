import type { ClusterMap__Output } from '../grpc/generated/lts/v1/ClusterMap.js';
import { partitionOf } from '../partition.js';

const hostAndPort = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,253})|\[[0-9A-Fa-f:]{2,45}\]):\d{1,5}$/;
/** Bounds what a peer can make us remember. */
const maxHints = 1_000;

/** Whether the text is host:port; what comes from peers and from the registry is checked with it. */
export function isAddress(text: string): boolean {
  return hostAndPort.test(text);
}

/** Where calls for a node group go: the newest map, corrected by what trackers said since. Holds state, does no I/O. */
export class Routes {
  #map: ClusterMap__Output | undefined;
  #ownerByPartition = new Map<number, string>();
  #addresses: string[] = [];
  /** By node group: owners that NOT_OWNER named since the map came. */
  readonly #hints = new Map<string, string>();

  get map(): ClusterMap__Output | undefined {
    return this.#map;
  }

  /** host:port of the trackers in the map. */
  get addresses(): readonly string[] {
    return this.#addresses;
  }

  /** Takes a map and forgets the hints, which are older. */
  take(map: ClusterMap__Output): void {
    const byNode = new Map(map.trackers.filter(({ address }) => isAddress(address)).map(({ node_id, address }) => [node_id, address]));
    this.#map = map;
    this.#addresses = [...new Set(byNode.values())];
    this.#ownerByPartition = new Map(map.owners.flatMap(({ partition, node_id }) => {
      const address = byNode.get(node_id);
      return address === undefined ? [] : [[partition, address] as const];
    }));
    this.#hints.clear();
  }

  /** host:port of the group's owner, where it is known. */
  ownerOf(nodeGroup: string): string | undefined {
    const hint = this.#hints.get(nodeGroup);
    if (hint !== undefined) return hint;
    if (this.#map === undefined || this.#map.partitions < 1) return undefined;
    return this.#ownerByPartition.get(partitionOf(nodeGroup, this.#map.partitions));
  }

  /** Remembers an owner that a tracker named; gives whether that changed the route. */
  noteOwner(nodeGroup: string, address: string): boolean {
    if (!isAddress(address) || this.ownerOf(nodeGroup) === address) return false;
    this.#hints.delete(nodeGroup);
    if (this.#hints.size >= maxHints) for (const oldest of this.#hints.keys()) if (this.#hints.size >= maxHints) this.#hints.delete(oldest);
    this.#hints.set(nodeGroup, address);
    return true;
  }

  /** Forgets the hints that lead to an address which does not answer. */
  forgetHints(address: string): void {
    for (const [nodeGroup, hint] of this.#hints) if (hint === address) this.#hints.delete(nodeGroup);
  }
}
