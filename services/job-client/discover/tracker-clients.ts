import { credentials } from '@grpc/grpc-js';
import { contract, rawContract } from '../../../shared/grpc/contract.js';
import type { AdminServiceClient } from '../../../shared/grpc/generated/lts/v1/AdminService.js';
import type { FeedbackServiceClient } from '../../../shared/grpc/generated/lts/v1/FeedbackService.js';
import type { JobServiceClient } from '../../../shared/grpc/generated/lts/v1/JobService.js';
import type { ScheduleServiceClient } from '../../../shared/grpc/generated/lts/v1/ScheduleService.js';
import { clientOptions } from '../../../shared/grpc/options.js';

/** The clients of one address; they share a connection. */
export interface ClientsOfTracker {
  /** Carries jobs as their bytes: see Raw. */
  job: JobServiceClient;
  admin: AdminServiceClient;
  feedback: FeedbackServiceClient;
  schedule: ScheduleServiceClient;
}

/** More addresses than a cluster has: those that were not used for longest are closed. */
const maxOpen = 64;

/** One set of clients per address, opened at first use. */
export class TrackerClients {
  readonly #open = new Map<string, ClientsOfTracker>();

  at(address: string): ClientsOfTracker {
    const known = this.#open.get(address);
    if (known !== undefined) return known;
    for (const oldest of this.#open.keys()) if (this.#open.size >= maxOpen) this.#close(oldest);
    const channel = credentials.createInsecure();
    const clients = {
      job: new rawContract.JobService(address, channel, clientOptions),
      admin: new contract.AdminService(address, channel, clientOptions),
      feedback: new contract.FeedbackService(address, channel, clientOptions),
      schedule: new contract.ScheduleService(address, channel, clientOptions),
    };
    this.#open.set(address, clients);
    return clients;
  }

  closeAll(): void {
    for (const address of this.#open.keys()) this.#close(address);
  }

  #close(address: string): void {
    const clients = this.#open.get(address);
    this.#open.delete(address);
    for (const client of Object.values(clients ?? {}) as { close(): void }[]) client.close();
  }
}
