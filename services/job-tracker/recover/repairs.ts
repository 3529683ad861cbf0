import type { Logger } from '../../../shared/log/logger.js';
import type { Clock } from '../../../shared/time/clock.js';

/** What is mended, with what was wrong. */
export const repairKinds = {
  EXECUTION_ADOPTED: 'The store knew an attempt that memory did not.',
  EXECUTION_DROPPED: 'Memory knew an attempt that the store did not.',
  ATTEMPT_RESENT: 'A connected worker had lost an attempt that was sent to it; it was sent again under its number.',
  WORKER_ASKED: 'A connected worker had not said what it has; it was asked again.',
  TIMER: 'Memory would have looked later than the next waiting row is due.',
  WAITING_COUNT: 'The count of waiting rows differed from the store.',
  READY_COUNT: 'The count of ready rows differed from the store.',
  EXECUTING_COUNT: 'The count of executing rows differed from the attempts themselves.',
  READY_ROWS: 'Ready rows of the store were not in memory although memory took itself for complete.',
  FIRE: 'A schedule was due that memory did not know.',
  HELD_RUN: 'A run of a schedule was held although nothing was left to wait for.',
  FEEDBACK_REWOUND: 'A result that is due for delivery had been passed over.',
  ORPHAN_NODE: 'A node of this session in ZooKeeper belonged to nothing any more.',
} as const;

export type RepairKind = keyof typeof repairKinds;

/** How often something was mended since this process started. */
export interface RepairCount {
  kind: RepairKind;
  count: number;
  /** Wall time in milliseconds since 1970 UTC. */
  lastAt: number;
}

/** Counts and tells what this tracker mends of itself. In a sound system it stays empty. */
export class Repairs {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #counts = new Map<RepairKind, RepairCount>();

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  readonly note = (kind: RepairKind, fields: Record<string, unknown>): void => {
    const lastAt = this.#clock.now();
    this.#counts.set(kind, { kind, count: (this.#counts.get(kind)?.count ?? 0) + 1, lastAt });
    this.#log.warn('repair.done', { kind, what: repairKinds[kind], ...fields });
  };

  all(): RepairCount[] {
    return [...this.#counts.values()];
  }
}
