import type { Pong__Output } from '../../../shared/grpc/generated/lts/v1/Pong.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { Worker } from './worker.js';
import type { WorkerSession } from './worker-session.js';

/** A clock that is further from the store's is a fault of its host. */
const apartMs = 5_000;
/** Smaller differences between clocks are left alone. */
const wrongFromMs = 1_000;

/** The clocks of the workers, beside the one by which jobs are due. */
export class WorkerClocks {
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /** The worker answers a ping. */
  pong(worker: Worker, session: WorkerSession, pong: Pong__Output): void {
    session.pong(pong, this.#clock.monotonic());
    const offsetMs = session.clock.against(this.#clock) ?? 0;
    const isApart = Math.abs(offsetMs) > apartMs;
    if (isApart && !worker.clockIsApart) this.#log.warn('clock.apart', { worker: worker.identity.nodeId, group: worker.group, host: worker.info.host, offsetMs });
    worker.clockIsApart = isApart;
  }

  /** A time in milliseconds that the worker told by its own clock, by the clock here; 0 stays 0. */
  timeOf(worker: Worker, told: number): number {
    const offsetMs = worker.session?.clock.against(this.#clock) ?? 0;
    return told > 0 && Math.abs(offsetMs) > wrongFromMs ? Math.max(told - offsetMs, 1) : told;
  }
}
