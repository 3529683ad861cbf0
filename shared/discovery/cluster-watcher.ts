import { isDeepStrictEqual } from 'node:util';
import { type ClientReadableStream, credentials } from '@grpc/grpc-js';
import { messageOf } from '../errors/lts-error.js';
import { contract } from '../grpc/contract.js';
import type { ClusterMap__Output } from '../grpc/generated/lts/v1/ClusterMap.js';
import type { WatchClusterResponse__Output } from '../grpc/generated/lts/v1/WatchClusterResponse.js';
import { clientOptions } from '../grpc/options.js';
import type { Logger } from '../log/logger.js';
import type { Registry, Subscription } from '../registry/registry.js';
import { backoffMs } from '../time/backoff.js';
import { type Clock, systemClock, type Timer } from '../time/clock.js';
import { isAddress, Routes } from './routes.js';

/*
 * Keeps one WatchCluster stream to one live tracker and remembers the newest map.
 *
 * States: connecting (a stream is open, no map came yet; given up after `mapTimeoutMs`) → watching → waiting (the stream
 * is lost; the next tracker is tried after a back-off that grows while none answers) → connecting …
 *
 * The candidates are the trackers of the newest map, then those of the registry, then the given ones, each in turn.
 * A tracker that is cut off may show an old map: maps are compared by their version. When versions began anew, because
 * the registry was wiped or lives in the tracker, a map that is not newer but differs is taken after the stream has shown
 * nothing else for `settleMs`.
 */

/** Where trackers are found and how patient the watcher is. */
export interface ClusterWatcherOptions {
  /** host:port of known trackers. */
  trackers?: readonly string[];
  /** Names live trackers, also those that came later. */
  registry?: Pick<Registry, 'watchMembers'>;
  log: Logger;
  clock?: Clock;
  /** Longest wait for the first map of a stream. Default 2,000 ms. */
  mapTimeoutMs?: number;
  /** How long a smaller version must stay to be believed. Default 10,000 ms. */
  settleMs?: number;
}

interface Watch {
  address: string;
  call: ClientReadableStream<WatchClusterResponse__Output>;
  timer: Timer;
  close(): void;
}

/** Knows the live trackers and the owner of each node group. Starts at once; nothing here blocks or throws. */
export class ClusterWatcher {
  readonly #options: ClusterWatcherOptions;
  readonly #clock: Clock;
  readonly #routes = new Routes();
  readonly #listeners = new Set<() => void>();
  readonly #registrySubscription: Subscription | undefined;
  #registryAddresses: string[] = [];
  #watch: Watch | undefined;
  #watching = false;
  #retry: Timer | undefined;
  #tries = 0;
  #next = 0;
  /** Not to be watched next. */
  #avoided: string | undefined;
  #closed = false;

  constructor(options: ClusterWatcherOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#registrySubscription = options.registry?.watchMembers('job-tracker', (members) => {
      this.#registryAddresses = members.map(({ address }) => address).filter(isAddress);
      this.#emit();
      if (this.#watch === undefined) this.#connect();
    });
    this.#connect();
  }

  /** The newest map; undefined before the first. */
  get map(): ClusterMap__Output | undefined {
    return this.#routes.map;
  }

  /** Version of the newest map; 0 before the first. */
  get mapVersion(): number {
    return this.#routes.map?.version ?? 0;
  }

  /** Whether a tracker answers right now. */
  get connected(): boolean {
    return this.#watching;
  }

  /** host:port of all trackers that may be tried, the live ones first. */
  get trackers(): string[] {
    return [...new Set([...this.#routes.addresses, ...this.#registryAddresses, ...(this.#options.trackers ?? [])])];
  }

  /** host:port of the trackers in the map; before the first map, of all that may be tried. */
  get live(): readonly string[] {
    return this.#routes.addresses.length > 0 ? this.#routes.addresses : this.trackers;
  }

  /** host:port of the group's owner; undefined while it is not known or there is none. */
  ownerOf(nodeGroup: string): string | undefined {
    return this.#routes.ownerOf(nodeGroup);
  }

  /** Remembers the owner that a NOT_OWNER or a Drain named, until a newer map comes. Empty or malformed ones are ignored. */
  noteOwner(nodeGroup: string, address: string): void {
    if (this.#routes.noteOwner(nodeGroup, address)) this.#emit();
  }

  /** The tracker lives and is not the owner that it was said to be. */
  forgetOwner(address: string): void {
    this.#routes.forgetHints(address);
  }

  /**
   * A tracker does not do what is asked of it: forgets what NOT_OWNER said of it, and watches another one, as far as
   * there is one. A tracker that stands still keeps its streams open and would hide for long that it was displaced.
   */
  noteUnreachable(address: string): void {
    this.#routes.forgetHints(address);
    if (this.#watch?.address !== address || !this.#watching || this.trackers.length < 2) return;
    this.#avoided = address;
    this.#lost(this.#watch, 'it does not answer calls');
  }

  /** Called after the routes or the trackers changed, and when a tracker answers again. */
  onChange(listener: () => void): Subscription {
    const own = (): void => listener();
    this.#listeners.add(own);
    return { close: () => void this.#listeners.delete(own) };
  }

  close(): void {
    this.#closed = true;
    this.#registrySubscription?.close();
    this.#retry?.cancel();
    this.#watch?.close();
    this.#watch = undefined;
    this.#watching = false;
    this.#listeners.clear();
  }

  #connect(): void {
    if (this.#closed || this.#watch !== undefined) return;
    this.#retry?.cancel();
    const candidates = this.trackers.filter((each) => each !== this.#avoided);
    this.#avoided = undefined;
    const address = candidates[this.#next++ % Math.max(candidates.length, 1)];
    if (address === undefined) return;
    try {
      this.#watch = this.#open(address);
    } catch (error) {
      this.#options.log.warn('stream.lost', { stream: 'WatchCluster', address, error });
      this.#retryLater();
    }
  }

  #open(address: string): Watch {
    const client = new contract.ClusterService(address, credentials.createInsecure(), clientOptions);
    const call = client.watchCluster({});
    const { mapTimeoutMs = 2_000 } = this.#options;
    const watch: Watch = {
      address,
      call,
      timer: this.#clock.after(mapTimeoutMs, () => this.#lost(watch, `no map within ${mapTimeoutMs} ms`)),
      close: () => {
        watch.timer.cancel();
        call.cancel();
        client.close();
      },
    };
    call.on('data', (response: WatchClusterResponse__Output) => this.#take(watch, response.map));
    call.on('error', (error) => this.#lost(watch, messageOf(error)));
    call.on('end', () => this.#lost(watch, 'the tracker ended the stream'));
    return watch;
  }

  #take(watch: Watch, map: ClusterMap__Output | null): void {
    if (this.#watch !== watch || map === null) return;
    watch.timer.cancel();
    const known = this.#routes.map;
    if (known === undefined || map.version > known.version) this.#routes.take(map);
    else if (!isDeepStrictEqual(map, known)) watch.timer = this.#clock.after(this.#options.settleMs ?? 10_000, () => this.#apply(map), { unref: true });
    else if (this.#watching) return;
    if (!this.#watching) this.#options.log.info('stream.connected', { stream: 'WatchCluster', address: watch.address, version: map.version });
    this.#watching = true;
    this.#tries = 0;
    this.#emit();
  }

  #apply(map: ClusterMap__Output): void {
    this.#routes.take(map);
    this.#emit();
  }

  #lost(watch: Watch, why: string): void {
    if (this.#watch !== watch) return;
    watch.close();
    this.#watch = undefined;
    if (this.#watching) this.#options.log.warn('stream.lost', { stream: 'WatchCluster', address: watch.address, why });
    this.#watching = false;
    this.#routes.forgetHints(watch.address);
    this.#retryLater();
  }

  /** All candidates are tried quickly once; only then the pauses grow. */
  #retryLater(): void {
    if (this.#closed) return;
    const rounds = Math.floor(this.#tries++ / Math.max(this.trackers.length, 1));
    this.#retry = this.#clock.after(backoffMs(rounds, 50, 2_000), () => this.#connect());
  }

  #emit(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (error) {
        this.#options.log.error('registry.failed', { what: 'a listener of the cluster map threw', error });
      }
    }
  }
}
