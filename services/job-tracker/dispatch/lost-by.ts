import type { Execution } from '../queue/owned-groups.js';
import type { Worker } from './worker.js';

/**
 * What a worker held when it was asked and does not list in its answer: it has lost it. What has ended, or is ending, or
 * was given up since then, is no loss.
 */
export function lostBy(worker: Worker, questioned: ReadonlySet<Execution>, listed: Worker['inventory']): Execution[] {
  return [...questioned].filter((execution) => {
    const { id, attempt, finishing, held } = execution;
    return worker.executions.has(execution) && !finishing && held && listed.get(id)?.attempt !== attempt;
  });
}
