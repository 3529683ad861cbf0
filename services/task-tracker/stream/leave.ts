import type { Clock } from '../../../shared/time/clock.js';
import type { WorkerNode } from './worker-node.js';

/** After their abort, runs get so long to stop; then they are reported as interrupted. Milliseconds. */
const stopWithinMs = 3_000;
const goodbyeWithinMs = 1_000;
/** Acks usually come within this time; then the disk is not needed. Milliseconds. */
const soonMs = 300;

/** How patient a leave is, in milliseconds. */
export interface LeaveLimits {
  /** Runs may finish within this time before they are aborted. */
  graceMs: number;
  /** Longest wait for acks. */
  deliverMs: number;
}

/*
 * A graceful leave:
 *
 *   take no more tasks → let runs finish → abort the rest → deliver results and lines → Goodbye → close
 *
 * Goodbye says that nothing is owed, so it is only said when everything was acked. Otherwise the stream just ends: what
 * is owed lies in the FailStore, and the tracker's grace time runs.
 */
export async function leave(node: WorkerNode, limits: LeaveLimits, clock: Clock): Promise<void> {
  node.stopTaking();
  const idle = (): boolean => node.attempts.running === 0;
  if (!(await until(node, idle, limits.graceMs, clock))) {
    node.abortAll('shutdown');
    if (!(await until(node, idle, stopWithinMs, clock))) node.giveUpRunning('the worker was shut down and the run did not stop');
  }
  const delivered = (): boolean => node.results.unacked === 0 && node.lines.unacked === 0;
  const hopeless = (): boolean => node.link.owned === undefined;
  node.pump();
  await until(node, () => delivered() || hopeless(), Math.min(soonMs, limits.deliverMs), clock);
  // From here on a kill loses nothing.
  node.results.storeAll();
  await until(node, () => delivered() || hopeless(), limits.deliverMs, clock);
  const session = node.link.owned;
  node.link.stop();
  if (session !== undefined && node.results.unacked === 0) {
    node.resign();
    session.leave();
    await until(node, () => session.closed, goodbyeWithinMs, clock);
  }
  node.close();
}

/** Whether the condition came true in time. */
function until(node: WorkerNode, condition: () => boolean, limitMs: number, clock: Clock): Promise<boolean> {
  if (condition()) return Promise.resolve(true);
  return new Promise((resolve) => {
    const end = (met: boolean): void => {
      timer.cancel();
      unsubscribe();
      resolve(met);
    };
    const timer = clock.after(limitMs, () => end(condition()));
    const unsubscribe = node.onChange(() => {
      if (condition()) end(true);
    });
  });
}
