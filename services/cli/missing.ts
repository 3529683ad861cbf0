import type { Output } from './output.js';

/** Says whose part an answer does not have. */
export function tellMissing(missing: readonly string[], output: Output): void {
  if (missing.length === 0) return;
  output.message(`not in this answer: what ${missing.length === 1 ? 'the tracker' : 'the trackers'} ${missing.join(', ')} alone ${missing.length === 1 ? 'knows' : 'know'}; a gateway asks all of them`);
}
