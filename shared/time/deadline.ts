import { LtsError } from '../errors/lts-error.js';
import { type Clock, systemClock } from './clock.js';

/** Settles like `work`, or rejects with DEADLINE_PASSED after `limitMs`; `work` itself is not stopped. */
export function withDeadline<T>(work: Promise<T>, limitMs: number, what: string, clock: Clock = systemClock): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = clock.after(limitMs, () =>
      reject(new LtsError('DEADLINE_PASSED', `${what} did not finish within ${limitMs} ms; its outcome is not known`)),
    );
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}
