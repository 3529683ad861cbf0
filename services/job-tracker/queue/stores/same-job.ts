import { isDeepStrictEqual } from 'node:util';
import { decodeJob } from '../../../../shared/grpc/job-codec.js';

/** Equal bytes, or bytes of equal jobs: maps have no order on the wire. */
export function sameJob(stored: Buffer, sent: Buffer): boolean {
  if (stored.equals(sent)) return true;
  try {
    return isDeepStrictEqual(decodeJob(stored), decodeJob(sent));
  } catch {
    return false;
  }
}
