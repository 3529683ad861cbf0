import { credentials } from '@grpc/grpc-js';
import { contract } from '../../../shared/grpc/contract.js';
import type { Queue__Output } from '../../../shared/grpc/generated/lts/v1/Queue.js';
import { systemClock } from '../../../shared/time/clock.js';

type Admin = InstanceType<typeof contract.AdminService>;

/** The queues of all trackers. */
export class Queues {
  readonly #admins: Admin[];

  constructor(trackers: readonly string[]) {
    this.#admins = trackers.map((tracker) => new contract.AdminService(tracker, credentials.createInsecure()));
  }

  /** A run leaves the executing queue when its result is committed; its ack is on the way then. */
  async empty(): Promise<void> {
    while ((await this.#all()).some(({ waiting, ready, executing }) => waiting + ready + executing > 0)) await systemClock.sleep(1);
  }

  close(): void {
    for (const admin of this.#admins) admin.close();
  }

  async #all(): Promise<Queue__Output[]> {
    const of = (admin: Admin): Promise<Queue__Output[]> =>
      new Promise((resolve, reject) => {
        admin.ListQueues({}, (error, answer) => (error === null ? resolve(answer?.queues ?? []) : reject(error)));
      });
    return (await Promise.all(this.#admins.map(of))).flat();
  }
}
