import type { WorkRequest } from '../../../shared/grpc/generated/lts/v1/WorkRequest.js';
import type { Attempts } from './attempts.js';

const mostPerChunk = 1_000;

/** All attempts that this worker has, as the frames that answer this question; the last one carries the end mark. */
export function inventoryFrames(attempts: Attempts, question: number, masterToken: number): WorkRequest[] {
  const held = Array.from(attempts.all, ({ instanceId, attempt, result }) => ({ instance_id: instanceId, attempt, finished: result !== undefined }));
  const frames: WorkRequest[] = [];
  for (let from = 0; from === 0 || from < held.length; from += mostPerChunk) {
    const end = from + mostPerChunk >= held.length;
    frames.push({ inventory: { held: held.slice(from, from + mostPerChunk), end, question, master_token: end ? masterToken : 0 } });
  }
  return frames;
}
