import type { Subscription } from '../../../shared/registry/registry.js';

/** Knows where calls go. A ClusterWatcher is one. */
export interface Router {
  /** host:port of all that may be tried, the best first. */
  readonly trackers: readonly string[];
  /** host:port of those that are alive, as far as is known: each is asked for results. */
  readonly live: readonly string[];
  /** Whether one of them answers right now, as far as is known. */
  readonly connected: boolean;
  /** Of the newest map; 0 before the first. */
  readonly mapVersion: number;
  ownerOf(nodeGroup: string): string | undefined;
  noteOwner(nodeGroup: string, address: string): void;
  noteUnreachable(address: string): void;
  onChange(listener: () => void): Subscription;
  close(): void;
}

/** Everything goes to one gateway, which finds the owners itself. */
export function gatewayRouter(address: string): Router {
  return {
    trackers: [address],
    live: [address],
    connected: false,
    mapVersion: 0,
    ownerOf: () => address,
    noteOwner: () => undefined,
    noteUnreachable: () => undefined,
    onChange: () => ({ close: () => undefined }),
    close: () => undefined,
  };
}
