import { type CallOptions, type ClientUnaryCall, credentials, status } from '@grpc/grpc-js';
import { type Address, formatAddress } from '../../shared/config/kinds.js';
import { connectionText } from '../../shared/errors/connection-text.js';
import { fromGrpcError } from '../../shared/errors/grpc-status.js';
import { LtsError } from '../../shared/errors/lts-error.js';
import { contract } from '../../shared/grpc/contract.js';
import type { AdminServiceClient } from '../../shared/grpc/generated/lts/v1/AdminService.js';
import type { FailStoreServiceClient } from '../../shared/grpc/generated/lts/v1/FailStoreService.js';
import type { JobServiceClient } from '../../shared/grpc/generated/lts/v1/JobService.js';
import type { ScheduleServiceClient } from '../../shared/grpc/generated/lts/v1/ScheduleService.js';
import { clientOptions } from '../../shared/grpc/options.js';
import { type Clock, systemClock } from '../../shared/time/clock.js';

/** Clients of the services that the command calls, all on one address. */
export interface Clients {
  job: JobServiceClient;
  admin: AdminServiceClient;
  failStore: FailStoreServiceClient;
  schedule: ScheduleServiceClient;
}

type Answer<Res> = (error: unknown, response?: Res) => void;

/** One unary call by its generated client, with these call options. */
export type UnaryCall<Res> = (clients: Clients, options: CallOptions, answer: Answer<Res>) => ClientUnaryCall;

/** How often a NOT_OWNER answer is followed to the owner it names. */
const mostHops = 3;

/** The server that the command talks to: deadlines, owners that are elsewhere, errors that say what to do. */
export class Target {
  /** host:port that is called first. */
  readonly address: string;
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  readonly #open = new Map<string, Clients>();

  constructor(address: Address, timeoutMs: number, clock: Clock = systemClock) {
    this.address = formatAddress(address);
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
  }

  /** Calls, and follows an answer NOT_OWNER; fails with an LtsError. */
  async call<Res>(send: UnaryCall<Res>): Promise<Res> {
    const deadline = this.#clock.now() + this.#timeoutMs;
    let { address } = this;
    for (let hop = 1; ; hop++) {
      try {
        return await this.#callAt(address, deadline, send);
      } catch (error) {
        const known = explained(error, address, this.#timeoutMs);
        if (known.reason !== 'NOT_OWNER' || known.owner === undefined || known.owner === address || hop >= mostHops) throw known;
        address = known.owner;
      }
    }
  }

  close(): void {
    for (const { job, admin, failStore, schedule } of this.#open.values()) for (const client of [job, admin, failStore, schedule]) client.close();
    this.#open.clear();
  }

  #callAt<Res>(address: string, deadline: number, send: UnaryCall<Res>): Promise<Res> {
    return new Promise((resolve, reject) => {
      send(this.#clientsAt(address), { deadline }, (error, response) => {
        if (error !== null && error !== undefined) reject(error as Error);
        else resolve(response as Res);
      });
    });
  }

  #clientsAt(address: string): Clients {
    const open = this.#open.get(address);
    if (open !== undefined) return open;
    const clients = {
      job: new contract.JobService(address, credentials.createInsecure(), clientOptions),
      admin: new contract.AdminService(address, credentials.createInsecure(), clientOptions),
      failStore: new contract.FailStoreService(address, credentials.createInsecure(), clientOptions),
      schedule: new contract.ScheduleService(address, credentials.createInsecure(), clientOptions),
    };
    this.#open.set(address, clients);
    return clients;
  }
}

function explained(error: unknown, address: string, timeoutMs: number): LtsError {
  const known = fromGrpcError(error);
  const code = (error as { code?: unknown }).code;
  if (code === status.UNAVAILABLE && known.reason === 'NO_TRACKER' && !hasReason(error)) {
    return new LtsError('NO_TRACKER', `nothing answers at ${address}: ${connectionText(known.message)}; start one with "lts standalone", or name another with --target`, { cause: error });
  }
  if (code === status.DEADLINE_EXCEEDED) {
    return new LtsError('DEADLINE_PASSED', `${address} did not answer within ${timeoutMs} ms; the outcome is not known; see --timeout`, { cause: error });
  }
  return known;
}

function hasReason(error: unknown): boolean {
  const metadata = (error as { metadata?: { get(key: string): unknown[] } }).metadata;
  return (metadata?.get('lts-reason').length ?? 0) > 0;
}
