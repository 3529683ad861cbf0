import { LtsError } from '../../../shared/errors/lts-error.js';
import { timeOfId } from '../../../shared/ids.js';

/** Clocks of clients may be ahead by so much. */
const aheadMs = 86_400_000;

/** Throws INVALID_ARGUMENT for an id whose repeat could not be recognised: made in the future, or before the retention. */
export function checkIdTime(id: string, now: number, retentionMs: number): void {
  const madeAt = timeOfId(id);
  if (madeAt > now + aheadMs) throw new LtsError('INVALID_ARGUMENT', `instance_id is "${id}"; it was made ${Math.round((madeAt - now) / 1000)} s in the future: set the clock of its maker`);
  if (madeAt < now - retentionMs) throw new LtsError('INVALID_ARGUMENT', `instance_id is "${id}"; it is older than the retention, so that a repeat could not be recognised: make a new one`);
}
