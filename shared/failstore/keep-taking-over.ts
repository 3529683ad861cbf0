import type { Clock, Timer } from '../time/clock.js';
import type { FailStore } from './fail-store.js';

/** The first look comes soon after the start, the others at this pace. Milliseconds. */
const firstMs = 1_000;
const everyMs = 10_000;
/** Between two steps other work has its turn. */
const stepMs = 5;

/**
 * Takes over what dead processes leave, for as long as this one lives. `moved`: entries behind this place, or
 * predecessors, are new.
 */
export function keepTakingOver(store: FailStore, clock: Clock, moved: (afterSeq: number) => void): { close(): void } {
  let timer: Timer;
  const step = (): void => {
    const { predecessors } = store;
    const { moved: count, afterSeq, more } = store.takeOver();
    arm(more ? stepMs : everyMs);
    if (count > 0 || store.predecessors !== predecessors) moved(afterSeq);
  };
  const arm = (delayMs: number): void => {
    timer = clock.after(delayMs, step, { unref: true });
  };
  arm(firstMs);
  return { close: () => timer.cancel() };
}
