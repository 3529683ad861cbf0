import { decodeAssignment } from '../../services/job-tracker/lead/assignment-codec.js';
import { ClusterView } from '../../services/job-tracker/lead/cluster-view.js';
import type { Router } from '../../services/job-client/discover/router.js';
import { Routes } from '../../shared/discovery/routes.js';
import type { ClusterMap__Output } from '../../shared/grpc/generated/lts/v1/ClusterMap.js';
import type { LocalRegistryHub } from '../../shared/registry/registries/local-hub.js';
import type { Subscription } from '../../shared/registry/registry.js';
import { type Process, Queue, type Scheduler } from './scheduler.js';

/** Where a client or worker finds the owners: the map of the cluster, which it hears of some time later. */
export class SimRouter implements Router {
  readonly connected = true;
  readonly #known: readonly string[];
  readonly #routes = new Routes();
  readonly #listeners = new Set<() => void>();
  readonly #unwatch: () => void;
  #toldVersion = 0;

  get mapVersion(): number {
    return this.#routes.map?.version ?? 0;
  }

  /** @param known addresses of trackers that it was started with */
  constructor(hub: LocalRegistryHub, scheduler: Scheduler, process: Process, known: readonly string[]) {
    this.#known = known;
    const maps = new Queue(scheduler);
    const tell = (): void => {
      const value = hub.document('assignment');
      const assignment = value === null ? undefined : decodeAssignment(value.data);
      if (value === null || assignment === undefined || value.version <= this.#toldVersion) return;
      this.#toldVersion = value.version;
      const view = new ClusterView();
      view.update(assignment, value.version);
      const map = view.map as ClusterMap__Output;
      maps.after(scheduler.random.tail(100, 1_500), `map ${map.version}`, () => {
        this.#routes.take(map);
        this.#changed();
      }, process);
    };
    this.#unwatch = hub.onChange(tell);
    tell();
  }

  get trackers(): readonly string[] {
    return [...new Set([...this.#routes.addresses, ...this.#known])];
  }

  get live(): readonly string[] {
    return this.#routes.addresses.length > 0 ? this.#routes.addresses : this.#known;
  }

  ownerOf(nodeGroup: string): string | undefined {
    return this.#routes.ownerOf(nodeGroup);
  }

  noteOwner(nodeGroup: string, address: string): void {
    if (this.#routes.noteOwner(nodeGroup, address)) this.#changed();
  }

  forgetOwner(address: string): void {
    this.#routes.forgetHints(address);
  }

  noteUnreachable(address: string): void {
    this.#routes.forgetHints(address);
  }

  onChange(listener: () => void): Subscription {
    const own = (): void => listener();
    this.#listeners.add(own);
    return { close: () => void this.#listeners.delete(own) };
  }

  close(): void {
    this.#unwatch();
    this.#listeners.clear();
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
