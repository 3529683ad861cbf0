import type { Logger } from '../../../shared/log/logger.js';
import type { Registry } from '../../../shared/registry/registry.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { WorkerDirectory } from '../dispatch/worker-directory.js';
import type { FeedbackDelivery } from '../feedback/feedback-delivery.js';
import { UnclaimedFeedback } from '../feedback/unclaimed-feedback.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { QueueStore } from '../queue/queue-store.js';
import type { DueTimer } from '../schedule/due-timer.js';
import type { GuardedRuns } from '../schedule/guarded-runs.js';
import type { Schedules } from '../schedule/schedules.js';
import { ExecutingCheck } from './check-executing.js';
import { GroupCheck } from './check-groups.js';
import { ScheduleCheck } from './check-schedules.js';
import { TimerCheck } from './check-timer.js';
import { Reconciliation } from './reconciliation.js';
import type { Repairs } from './repairs.js';

/** What is looked at. */
export interface SelfRepairParts {
  groups: OwnedGroups;
  directory: WorkerDirectory;
  dispatcher: Dispatcher;
  dueTimer: DueTimer;
  scheduler: Schedules;
  guarded: GuardedRuns;
  delivery: FeedbackDelivery;
  store: QueueStore;
  registry: Registry;
  clock: Clock;
  log: Logger;
}

const feedbackEveryTicks = 10;

/**
 * What this owner does to find and mend what is wrong with itself, whatever the cause: a bounded piece at each tick.
 * - Memory against the store: reconciliation.ts, one read of each kind.
 * - Workers against memory: they are asked again what they have (dispatch/worker-directory.ts).
 * - Results that were passed over are delivered; those that nobody picks up are told (feedback/unclaimed-feedback.ts).
 * - Nodes of this session in ZooKeeper that belong to nothing (shared/registry, orphan-sweep.ts).
 * What is mended is counted by kind (repairs.ts): in a sound system nothing is.
 */
export class SelfRepair {
  readonly repairs: Repairs;
  readonly unclaimed: UnclaimedFeedback;
  readonly #parts: SelfRepairParts;
  readonly #reconciliation: Reconciliation;
  #ticks = 0;

  constructor(parts: SelfRepairParts, repairs: Repairs) {
    const { groups, directory, dispatcher, dueTimer, scheduler, guarded, delivery, store, registry, clock, log } = parts;
    this.#parts = parts;
    this.repairs = repairs;
    this.unclaimed = new UnclaimedFeedback(store, delivery, clock, log);
    const checks = {
      executing: new ExecutingCheck(groups, directory, dispatcher, store, repairs),
      timer: new TimerCheck(groups, dueTimer, store, clock, repairs),
      schedules: new ScheduleCheck(groups, scheduler, guarded, store, clock, repairs),
      groups: new GroupCheck(groups, dispatcher, store, repairs),
    };
    this.#reconciliation = new Reconciliation(groups, checks, clock, log);
    registry.onOrphan((path) => repairs.note('ORPHAN_NODE', { path }));
  }

  /** To be called about every second. */
  tick(): void {
    const { directory, delivery, groups } = this.#parts;
    directory.askAgain();
    void this.#reconciliation.step();
    if (this.#ticks++ % feedbackEveryTicks > 0 || groups.partitions.size === 0) return;
    if (groups.hasChores) void this.unclaimed.look();
    else this.unclaimed.forget();
    delivery.findPassedOver((submitNodeGroup, id) => this.repairs.note('FEEDBACK_REWOUND', { group: submitNodeGroup, instanceId: id }));
  }
}
