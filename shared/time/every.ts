import type { Clock, Timer } from './clock.js';

/** Calls back each time so many milliseconds have passed since the last call ended, until it is cancelled. Does not keep the process alive. */
export function every(clock: Clock, periodMs: number, action: () => void): Timer {
  let timer: Timer;
  let cancelled = false;
  const arm = (): void => {
    timer = clock.after(periodMs, () => {
      action();
      if (!cancelled) arm();
    }, { unref: true });
  };
  arm();
  return {
    cancel: () => {
      cancelled = true;
      timer.cancel();
    },
  };
}
