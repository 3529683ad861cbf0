import type { Output } from './output.js';

/** Says whose part an answer does not have. */
export function tellMissing(missing: readonly string[], output: Output): void {
  if (missing.length === 0) return;
  const [those, know] = missing.length === 1 ? ['the tracker', 'knows'] : ['the trackers', 'know'];
  output.message(`not in this answer: what ${those} ${missing.join(', ')} alone ${know}; a gateway asks all and got no answer there, a tracker answers for itself only`);
}
