import type { CallOptions, ClientUnaryCall } from '@grpc/grpc-js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import type { Clock } from '../../../shared/time/clock.js';
import { isPassing, Journey, toCallError } from './journey.js';
import type { Router } from './router.js';
import type { ClientsOfTracker, TrackerClients } from './tracker-clients.js';

/** What calls need. */
export interface CallParts {
  router: Router;
  clients: TrackerClients;
  clock: Clock;
}

/** One unary call by its generated client. */
export type UnaryCall<Res> = (clients: ClientsOfTracker, options: CallOptions, answer: (error: unknown, response?: Res) => void) => ClientUnaryCall;

/**
 * Calls the owner of the group, or any owner when the group is empty: follows NOT_OWNER and tries again elsewhere
 * until the time is up. For calls that may be repeated. Throws LtsError.
 */
export async function callOwner<Res>({ router, clients, clock }: CallParts, nodeGroup: string, timeoutMs: number, send: UnaryCall<Res>): Promise<Res> {
  const journey = new Journey(router, clock, timeoutMs);
  let last = new LtsError('NO_TRACKER', 'no JobTracker is known; start one, or check the addresses');
  for (;;) {
    const address = journey.pick(nodeGroup);
    let progress = false;
    if (address !== undefined) {
      try {
        return await callOnce(clients.at(address), clock.now() + journey.tryMs, send);
      } catch (error) {
        last = toCallError(error, address);
        if (!isPassing(last.reason)) throw last;
        if (last.reason === 'NOT_OWNER') progress = journey.follow(nodeGroup, address, last.owner ?? '');
        else journey.failed(address, last.reason);
      }
    }
    if (!(await journey.next(progress))) throw last;
  }
}

/** Calls exactly this tracker, once. Throws LtsError. */
export async function callAt<Res>({ clients, clock }: CallParts, address: string, timeoutMs: number, send: UnaryCall<Res>): Promise<Res> {
  try {
    return await callOnce(clients.at(address), clock.now() + timeoutMs, send);
  } catch (error) {
    throw toCallError(error, address);
  }
}

function callOnce<Res>(clients: ClientsOfTracker, deadline: number, send: UnaryCall<Res>): Promise<Res> {
  return new Promise((resolve, reject) => {
    send(clients, { deadline }, (error, response) => {
      if (error !== null && error !== undefined) reject(error as Error);
      else resolve(response as Res);
    });
  });
}
