import { LtsError } from '../../shared/errors/lts-error.js';
import type { Instance__Output } from '../../shared/grpc/generated/lts/v1/Instance.js';
import { type Clock, systemClock } from '../../shared/time/clock.js';
import type { ExitName } from './exit-codes.js';
import { hasEnded, readInstance, stateOf } from './instances.js';
import type { Output } from './output.js';
import type { Target } from './target.js';

const firstPauseMs = 50;
const longestPauseMs = 1_000;

/** Waits until all have ended and prints them. A server that is away for a while does not end the wait. */
export async function waitForEnd(ids: readonly string[], withinMs: number, target: Target, output: Output, clock: Clock = systemClock): Promise<ExitName> {
  const until = clock.monotonic() + withinMs;
  const ended: Instance__Output[] = [];
  for (const id of ids) ended.push(await waitForOne(id, until, target, clock));
  output.data(ended.length === 1 ? ended[0] : ended, () => ({
    head: ['instance id', 'task id', 'state', 'attempts', 'message'],
    rows: ended.map((instance) => [instance.instance_id, instance.job?.task_id ?? '', stateOf(instance), instance.attempt, instance.message]),
  }));
  return ended.every((instance) => instance.state === 'INSTANCE_STATE_SUCCEEDED') ? 'ok' : 'failed';
}

async function waitForOne(id: string, until: number, target: Target, clock: Clock): Promise<Instance__Output> {
  let last = 'it was not seen';
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      const instance = await readInstance(target, { instance_id: id, task_id: '', node_group: '' });
      if (hasEnded(instance)) return instance;
      last = `it is ${stateOf(instance)}; see: lts job explain ${id}`;
    } catch (error) {
      // Stored by the gateway and not sent yet, or an owner that changes: both pass.
      if (!(error instanceof LtsError) || error.reason === 'INTERNAL' || error.reason === 'UNSUPPORTED' || error.reason === 'INVALID_ARGUMENT') throw error;
      last = error.message;
    }
    const leftMs = until - clock.monotonic();
    if (leftMs <= 0) throw new LtsError('DEADLINE_PASSED', `${id} has not ended within --wait-timeout: ${last}`);
    await clock.sleep(Math.min(pauseMs, leftMs));
  }
}
