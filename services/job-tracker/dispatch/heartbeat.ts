import { LtsError } from '../../../shared/errors/lts-error.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { WorkerDirectory } from './worker-directory.js';

/** Pings every session and cuts off those that have been silent for three intervals: their grace time starts. */
export function heartbeat(directory: WorkerDirectory, pingIntervalMs: number, clock: Clock): void {
  const now = clock.monotonic();
  for (const { session } of directory.all()) {
    if (session === undefined) continue;
    const silentMs = now - session.heardAt;
    if (silentMs > 3 * pingIntervalMs) session.end(new LtsError('DEADLINE_PASSED', `nothing was heard for ${Math.round(silentMs)} ms; reconnect`));
    else session.ping(Math.round(now));
  }
}
