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

  /**
   * When the worker wants a run to be tried again, by the clock here, in milliseconds; 0: it does not say. Its clock may
   * have been set since the last ping: no run has ended in the future, so what its end lies there is taken off.
   */
  retryAt(worker: Worker, { retry_at: told, ended_at: endedAt }: { retry_at: number; ended_at: number }): number {
    if (told <= 0) return 0;
    const offsetMs = worker.session?.clock.against(this.#clock) ?? 0;
    const knownMs = Math.abs(offsetMs) > wrongFromMs ? offsetMs : 0;
    const aheadMs = endedAt - knownMs - this.#clock.now();
    return Math.max(told - knownMs - (aheadMs > wrongFromMs ? aheadMs : 0), 1);
  }
}
