import { messageOf } from '../../../../shared/errors/lts-error.js';
import type { Outcome, Transition } from '../queue-store.js';

/** The outcome of the one transition of a batch that the store does not take, of which nothing is stored. */
export function refused({ kind }: Transition, error: unknown): Outcome {
  if (kind === 'admit' || kind === 'enroll') return { kind, result: 'refused', message: `the store does not take this job: ${messageOf(error)}` };
  return { kind: 'refused', message: `the store does not take a ${kind}: ${messageOf(error)}` };
}
