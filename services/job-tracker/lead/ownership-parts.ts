import type { Logger } from '../../../shared/log/logger.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { LoadedSchedules, OwnerIdentity, QueueStore } from '../queue/queue-store.js';

/** What follows from ownership. */
export interface OwnershipEvents {
  /** The partition is loaded: workers are asked, timers armed, work goes on. */
  adopted(partition: number, schedules: LoadedSchedules): void;
  /** These are not owned any more. */
  dropped(partitions: readonly number[]): void;
  /** A higher epoch is stored although the registry may still name this tracker. */
  fenced(): void;
}

/** What ownership stands on. */
export interface OwnershipParts {
  store: QueueStore;
  groups: OwnedGroups;
  identity: Omit<OwnerIdentity, 'nodeId'>;
  /** host:port of the partition's owner by the map; "" when that is nobody, or this tracker. */
  ownerOf(partition: number): string;
  /** Whether the registry shows this process start of a tracker. */
  isLive(incarnation: string): boolean;
  /** Whether the registry is heard: without it nobody else is displaced. */
  hearsRegistry(): boolean;
  /** Resolves when all changes that were begun are in the store. */
  flushed(): Promise<void>;
  events: OwnershipEvents;
  /** How long a live holder is waited for before it is displaced, in milliseconds: the session time of the registry. */
  displaceAfterMs: number;
  clock: Clock;
  log: Logger;
}
